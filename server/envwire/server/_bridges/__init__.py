"""Bridges: processes that serve another protocol, as ordinary clients of the server."""
