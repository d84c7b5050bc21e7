"""Observation of a server by watchers: its sessions, their history, and pictures of their environments."""
