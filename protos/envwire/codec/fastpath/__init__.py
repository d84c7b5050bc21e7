"""The fast path: encodes and decodes steps like the last one without building messages."""
