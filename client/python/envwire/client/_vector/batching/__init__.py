"""Batches of vector environments: actions cut for sessions, and observations and infos put together."""
