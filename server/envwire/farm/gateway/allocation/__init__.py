"""Allocations: slots that servers keep, and tickets for them."""
