"""Commands that make an environment on a server and take steps in it."""
