"""The proxy of a single remote environment."""
