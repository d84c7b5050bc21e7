"""A server's side of a farm: registers with gateways, reports load, and executes their orders."""
