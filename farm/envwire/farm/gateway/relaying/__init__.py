"""Relays requests to servers: connections, routes by session, streams and tunnels."""
