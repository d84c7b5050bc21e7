"""Batches of vector environments: splits actions for sessions, and joins observations and infos."""
