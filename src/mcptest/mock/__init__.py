"""A server made of a contract: what it hears goes in, what it says comes out; pure."""
