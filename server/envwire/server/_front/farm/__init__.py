"""A server in a farm: it registers with gateways, reports to them, and obeys them."""
