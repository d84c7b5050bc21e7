"""Flat forms of elements and of spaces."""
