"""Recordings of sessions: files that session processes write, the front limits and commands read."""
