"""Checks of arguments: the bounds of a Box, the masks and probabilities that `sample` takes."""
