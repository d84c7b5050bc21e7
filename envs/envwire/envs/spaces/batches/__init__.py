"""Batches of elements, and batched spaces."""
