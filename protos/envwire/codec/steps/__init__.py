"""The messages of steps: one interface, two implementations that say the same."""
