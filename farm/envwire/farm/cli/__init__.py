"""The commands `envwire farm` and `envwire gateway`, which the entry points of the distribution name."""
