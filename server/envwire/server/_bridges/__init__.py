"""Bridges: processes that offer another protocol and are ordinary clients of the server."""
