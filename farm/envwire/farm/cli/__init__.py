"""The command `envwire farm`, which the entry point of the distribution names, and its commands."""
