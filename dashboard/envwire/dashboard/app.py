"""The dashboard's HTTP endpoints: the page, its JSON queries and its orders to servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from envwire.admin.v1 import admin_pb2
from envwire.dashboard.channels import CallError, Channels
from envwire.dashboard.guard import Guard
from envwire.dashboard.query import Query, page
from envwire.dashboard.summaries import description, farm_summary, known
from envwire.dashboard.tiles import Tiles
from envwire.dashboard.watching import Watcher
from envwire.envs.type_guards import is_mapping
from envwire.observe.v1 import observe_pb2
from envwire.server._grammar import counted

_PAGE = Path(__file__).with_name("page")
_SECOND = 1.0
#: Longest request body, which holds two short strings.
_MAX_BYTES = 4096


class Dashboard:
    """The dashboard's application.

    Args:
        watcher: Watches the servers.
        channels: Channels to them.
    """

    def __init__(self, watcher: Watcher, channels: Channels) -> None:
        self._watcher = watcher
        self._channels = channels

    def app(self, key: str) -> Starlette:
        """Returns the ASGI application.

        Args:
            key: The page's key, which each request must carry.
        """
        routes = [
            Route("/", self._index),
            Route("/api/farm", self._farm),
            Route("/api/sessions", self._sessions),
            Route("/api/session", self._session),
            Route("/api/wall", self._wall),
            Route("/api/end", self._end, methods=["POST"]),
            Route("/api/drain", self._drain, methods=["POST"]),
            Mount("/", StaticFiles(directory=_PAGE)),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Guard, key=key)],
            exception_handlers={CallError: _refused, ValueError: _refused},
            lifespan=self._watching,
        )

    @contextlib.asynccontextmanager
    async def _watching(self, _: Starlette) -> AsyncGenerator[None]:
        running = [asyncio.ensure_future(each) for each in (self._watcher.run(), self._note())]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _note(self) -> None:
        """Notes the steps of each second, so that a page that is opened later shows them."""
        while True:
            await asyncio.sleep(_SECOND)
            self._watcher.fleet.note_second()

    async def _index(self, _: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    async def _farm(self, _: Request) -> Response:
        async def lines() -> AsyncGenerator[bytes]:
            fleet = self._watcher.fleet
            past = {"rates": fleet.rates.until(fleet.second)}
            while True:
                told = farm_summary(fleet, self._watcher.waiting) | past
                yield json.dumps(told).encode() + b"\n"
                past = {}
                await asyncio.sleep(_SECOND)

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def _sessions(self, request: Request) -> Response:
        return JSONResponse(page(self._watcher.fleet, Query.of(request.query_params)))

    async def _session(self, request: Request) -> Response:
        server, session_id = self._named_session(request.query_params)
        told: dict[str, Any] = {"admin": self._watcher.fleet.server(server).admin}
        told |= known(self._watcher.fleet, server, session_id)
        try:
            asked = observe_pb2.DescribeSessionRequest(session_id=session_id)
            described = await self._channels.ask(server, "observe", "DescribeSession", asked)
        except CallError as error:
            return JSONResponse({**told, "refused": str(error)})
        return JSONResponse({**told, **description(described)})

    async def _wall(self, request: Request) -> Response:
        named = [tile.rpartition("/") for tile in request.query_params.getlist("tile")]
        keys = [(server, session_id) for server, _, session_id in named]
        if not keys:
            raise ValueError("name the sessions to show, each as tile=SERVER/ID")
        for server, _ in keys:
            self._check_known(server)
        tiles = Tiles(self._channels, keys)
        return StreamingResponse(tiles.lines(), media_type="application/x-ndjson")

    async def _end(self, request: Request) -> Response:
        server, session_id = self._named_session(await _body(request))
        ended = admin_pb2.EndSessionRequest(session_id=session_id)
        await self._channels.ask(server, "admin", "EndSession", ended)
        return JSONResponse({"done": f"session {session_id} has ended"})

    async def _drain(self, request: Request) -> Response:
        server, _ = self._named_session(await _body(request))
        answer = await self._channels.ask(
            server, "admin", "DrainServer", admin_pb2.DrainServerRequest()
        )
        return JSONResponse({"done": f"{server} drains: {counted(answer.sessions, 'session')}"})

    def _named_session(self, given: Any) -> tuple[str, str]:
        server, session_id = given.get("server", ""), given.get("id", "")
        if not (isinstance(server, str) and isinstance(session_id, str)):
            raise ValueError("server and id must be strings")
        self._check_known(server)
        return server, session_id

    def _check_known(self, server: str) -> None:
        """Refuses servers that are not watched, so that the page cannot be used to reach other addresses.

        Raises:
            ValueError: The server is not watched.
        """
        if server not in self._watcher.fleet.servers:
            raise ValueError(f"{server!r} is none of the servers that are watched")


async def _body(request: Request) -> Mapping[str, Any]:
    """Returns a request's body, a short JSON object.

    Raises:
        ValueError: The body is too long, or not a JSON object.
    """
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > _MAX_BYTES:
            raise ValueError(f"a request of more than {_MAX_BYTES} bytes")
    try:
        given: Any = json.loads(raw)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if not is_mapping(given):
        raise ValueError("not a JSON object")
    return given


async def _refused(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, getattr(error, "status", 400))
