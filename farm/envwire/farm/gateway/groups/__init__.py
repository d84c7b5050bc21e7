"""The groups of a farm: kinds of servers that start when a Make needs one and stop when nobody uses them. No I/O."""
