"""Remote vector environments of asyncio clients."""
