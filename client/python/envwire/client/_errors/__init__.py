"""Builds the exceptions of the client: from faults that a server reports, and from failed connections."""
