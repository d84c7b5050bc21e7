"""Requests over gRPC: connections, unary calls, and the stream, for blocking and asyncio clients."""
