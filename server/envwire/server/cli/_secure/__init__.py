"""Commands that create certificates and tokens."""
