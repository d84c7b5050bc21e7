"""How requests reach a server: in process, gRPC, the direct channel, shared memory."""
