"""Transports: how requests reach a server, by gRPC, a direct channel or shared memory."""
