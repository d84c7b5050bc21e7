"""Elements as flat arrays, and the spaces that these are elements of."""
