"""Sessions whose environments are programs of their own."""
