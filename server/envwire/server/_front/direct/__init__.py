"""The direct port: connections are accepted, authenticated, and handed to the process of their session."""
