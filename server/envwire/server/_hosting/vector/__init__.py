"""Vector environments: made, driven together, their members, resets and infos."""
