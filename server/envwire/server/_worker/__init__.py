"""The session process: its event loop, connections and exit, and the fork server."""
