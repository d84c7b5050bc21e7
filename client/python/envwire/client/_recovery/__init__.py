"""Recovery of environments whose session was lost: raise, truncate or replay."""
