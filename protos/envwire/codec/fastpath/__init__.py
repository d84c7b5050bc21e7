"""The fast path: encodes and decodes steps that resemble the last one without building messages."""
