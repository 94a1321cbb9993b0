"""The only package that opens a process, a pipe or a socket."""
