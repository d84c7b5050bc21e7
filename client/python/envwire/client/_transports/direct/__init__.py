"""Direct channels: connecting, frames and shared memory, for blocking and asyncio clients."""
