"""Commands for authors of environments: describe one, and check it."""
