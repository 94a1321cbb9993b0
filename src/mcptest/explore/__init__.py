"""What can be learned from a server's own lists: arguments, samples, shapes, a first test file."""
