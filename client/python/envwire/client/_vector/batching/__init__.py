"""Batches of vector environments: splits actions and resets for sessions, and joins observations and infos."""
