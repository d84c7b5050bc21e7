"""Hosting: libraries of environments, making them, vector and multi-agent environments."""
