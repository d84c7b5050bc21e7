"""Serves the link in a session process: the front's orders, and client requests that the front relays."""
