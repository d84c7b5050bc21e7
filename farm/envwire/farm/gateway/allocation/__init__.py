"""Allocations: slots that servers reserve, and tickets to use them."""
