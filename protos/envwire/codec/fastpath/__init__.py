"""The usual step, written and read without building messages."""
