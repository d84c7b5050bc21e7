"""Commands for authors of environments: look at one, and check it."""
