"""The fast path: a step that is like the last one, written and read without building messages."""
