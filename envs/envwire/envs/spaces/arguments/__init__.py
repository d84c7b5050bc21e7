"""Checks of what callers pass to spaces: the bounds of a Box, the masks that steer sampling."""
