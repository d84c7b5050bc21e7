"""Spaces, specifications and random states as messages and back."""
