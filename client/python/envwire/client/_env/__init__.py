"""What a single remote environment is made of."""
