"""Bridges: processes beside the server that speak another protocol, and are clients of the server like any other."""
