"""Encodes and decodes spaces, specs and random states."""
