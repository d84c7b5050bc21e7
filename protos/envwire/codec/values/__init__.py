"""Encodes and decodes values."""
