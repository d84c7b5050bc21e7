"""Serves the front over gRPC: ports, methods of the service, health checks."""
