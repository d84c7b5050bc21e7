"""Vector environments: making them, driving their members, resets and infos."""
