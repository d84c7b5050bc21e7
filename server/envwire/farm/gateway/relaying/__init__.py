"""Relaying of requests to servers: connections, routes by session, and streams."""
