"""Requests over direct channels: connecting, frames, shared memory, blocking and asyncio."""
