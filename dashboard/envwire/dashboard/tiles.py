"""The wall: pictures of several sessions in one stream, since a browser opens only six connections per host."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from envwire.dashboard.channels import CallError, Channels
from envwire.dashboard.png import png
from envwire.observe.v1 import observe_pb2 as pb

MAX_TILES = 24

#: Address of the server and id of the session.
SessionKey = tuple[str, str]


class Tiles:
    """The tiles of one wall. Only the newest picture of each is kept until the browser reads it.

    Args:
        channels: Channels to the servers.
        keys: The sessions to show.
    """

    def __init__(self, channels: Channels, keys: list[SessionKey]) -> None:
        self._channels = channels
        self._keys = keys[:MAX_TILES]
        self._new: dict[SessionKey, dict[str, str]] = {}
        self._changed = asyncio.Event()

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yields one line of JSON for each tile that changed."""
        tasks = [asyncio.ensure_future(self._watch(key)) for key in self._keys]
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                new, self._new = self._new, {}
                for (server, session_id), tile in new.items():
                    told = {"server": server, "id": session_id, **tile}
                    yield json.dumps(told).encode() + b"\n"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, key: SessionKey) -> None:
        server, session_id = key
        request = pb.WatchFramesRequest(session_id=session_id)
        try:
            told = self._channels.listen(server, "observe", "WatchFrames", request)
            async with aclosing(told):
                async for picture in told:
                    self._put(key, tile_of(picture))
        except CallError as error:
            self._put(key, {"text": str(error)})

    def _put(self, key: SessionKey, tile: dict[str, str]) -> None:
        self._new[key] = tile
        self._changed.set()


def tile_of(picture: pb.WatchFramesResponse) -> dict[str, str]:
    """Returns the tile's content: a picture, or the reason why there is none."""
    if picture.HasField("frame"):
        return {"png": encoded(picture.frame)}
    return {"text": picture.unavailable}


def encoded(frame: pb.Frame) -> str:
    """Returns a picture as a data URL."""
    data = base64.b64encode(png(frame.width, frame.height, frame.rgb)).decode()
    return f"data:image/png;base64,{data}"
