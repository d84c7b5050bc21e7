"""Hosting: environment libraries, making environments, vector and multi-agent environments."""
