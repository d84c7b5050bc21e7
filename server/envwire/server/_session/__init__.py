"""One session: an environment, driven message by message. No I/O happens here."""
