"""Counts a session's episodes with their returns, repeated requests, and replays."""
