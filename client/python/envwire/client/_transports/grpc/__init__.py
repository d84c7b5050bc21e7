"""Requests over gRPC: connections, unary calls, the stream, blocking and asyncio."""
