"""Counts what a session does beyond its steps: episodes with their returns, repeats, replays."""
