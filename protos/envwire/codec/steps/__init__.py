"""Step codecs: one interface, two equivalent implementations."""
