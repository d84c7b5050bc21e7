"""Drivers: move bytes between a session and a transport, blocking or with asyncio."""
