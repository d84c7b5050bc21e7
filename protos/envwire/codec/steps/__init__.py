"""Step codecs: one that uses protobuf messages, and a fast one that falls back to it."""
