"""The gRPC side of the front: the ports, the methods of the service, health. Nothing else in the front serves gRPC."""
