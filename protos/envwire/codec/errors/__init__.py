"""Errors, exceptions and warnings as messages and back."""
