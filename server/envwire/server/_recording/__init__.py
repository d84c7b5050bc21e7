"""Recordings of sessions, as files: written by session processes, limited by the front, read by commands."""
