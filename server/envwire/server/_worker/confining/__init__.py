"""What keeps a session process within bounds: resource limits, control groups, Landlock."""
