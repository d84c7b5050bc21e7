"""Remote environments for asyncio programs.

>>> from envwire.client.aio import RemoteEnv
>>> async def main() -> None:
...     async with RemoteEnv("localhost:50051", "CartPole-v1") as env:
...         observation, info = await env.reset(seed=42)
"""

from __future__ import annotations

from envwire.client._env.async_proxy import AsyncRemoteEnv as RemoteEnv
from envwire.client._vector.async_proxy import AsyncRemoteVectorEnv as RemoteVectorEnv

__all__ = ["RemoteEnv", "RemoteVectorEnv"]
