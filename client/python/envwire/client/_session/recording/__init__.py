"""Recordings: the requests of a session that are replayed after it was lost."""
