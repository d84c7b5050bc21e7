"""Encodes and decodes errors, exceptions and warnings."""
