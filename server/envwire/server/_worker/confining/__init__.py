"""Confinement of session processes: resource limits, control groups, Landlock."""
