"""Batches of elements, and the spaces that they are elements of."""
