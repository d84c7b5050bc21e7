"""What becomes of an environment whose session was lost: raise, truncate or replay."""
