"""Groups of environments, and the interpreters that run them."""
