"""The ASGI application of the OpenEnv bridge: its routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from envwire.client import RemoteEnv
from envwire.openenv import pages
from envwire.openenv.connection import Connection
from envwire.openenv.messages import Code, RefusedError
from envwire.openenv.schemas import STATE, object_schema
from envwire.openenv.session import Session, make
from envwire.openenv.settings import BridgeSettings
from envwire.server._settings.listening import host_of, is_loopback

#: HTTP statuses as OpenEnv's own server answers them.
_STATUS = {Code.FACTORY_ERROR: 404, Code.CAPACITY_REACHED: 503}
_FORBIDDEN = 1008  # WebSocket close code for a policy violation


def application(settings: BridgeSettings) -> Starlette:
    """Returns the bridge's ASGI application."""
    bridge = _Bridge(settings)
    return Starlette(routes=[*_routes("", bridge), *_routes("/{env_id:path}", bridge)])


def _routes(base: str, bridge: _Bridge) -> list[Route | WebSocketRoute]:
    return [
        WebSocketRoute(f"{base}/ws", bridge.connect),
        Route(f"{base}/health", _said(lambda _: pages.HEALTH)),
        Route(f"{base}/metadata", _said(pages.metadata)),
        Route(f"{base}/openapi.json", _said(pages.openapi)),
        Route(f"{base}/mcp", _said(lambda _: pages.MCP), methods=["POST"]),
        Route(f"{base}/schema", bridge.schema),
        *(
            Route(f"{base}/{name}", _said(lambda _: pages.SOCKET_ONLY, 501), methods=[method])
            for name, method in (("reset", "POST"), ("step", "POST"), ("state", "GET"))
        ),
    ]


def _said(page: Callable[[str], dict[str, Any]], status: int = 200) -> Any:
    """Returns an endpoint that serves a document about the environment in its path."""

    async def endpoint(request: Request) -> JSONResponse:
        return JSONResponse(page(request.path_params.get("env_id", "")), status)

    return endpoint


class _Bridge:
    """The endpoints that need the envwire server."""

    def __init__(self, settings: BridgeSettings) -> None:
        self._settings = settings

    async def connect(self, socket: WebSocket) -> None:
        """Serves one client until it disconnects."""
        await socket.accept()
        # Browsers send Origin. Without this check any web page could reach a bridge on its visitor's machine.
        if "origin" in socket.headers:
            await socket.close(_FORBIDDEN, "not for web pages")
            return
        session = Session(self._making(socket.path_params.get("env_id", ""), socket.headers))
        await Connection(socket, session, self._settings.idle_timeout).serve()

    async def schema(self, request: Request) -> JSONResponse:
        """Describes actions and observations; makes an environment for that, and closes it again."""
        if "origin" in request.headers or not self._named(request.headers):
            return JSONResponse({"detail": "not for web pages"}, 403)
        env_id = request.path_params.get("env_id", "")
        if not env_id:
            anything = {"type": "object"}
            return JSONResponse({"action": anything, "observation": anything, "state": STATE})
        making = self._making(env_id, request.headers)
        try:
            return JSONResponse(await asyncio.to_thread(_described, making))
        except RefusedError as error:
            return JSONResponse({"detail": str(error)}, _STATUS.get(error.code, 502))

    def _named(self, headers: Headers) -> bool:
        """Returns whether a request names this machine; on loopback a page that rebinds its own name does not."""
        host = headers.get("host", "")
        return not self._settings.loopback or is_loopback(host_of(host) or host)

    def _making(self, env_id: str, headers: Headers) -> Callable[[], RemoteEnv]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return partial(
            make,
            self._settings.target,
            env_id,
            token.strip() if scheme.lower() == "bearer" else None,
            tls=bool(self._settings.tls_cert),
        )


def _described(making: Callable[[], RemoteEnv]) -> dict[str, Any]:
    with closing(making()) as env:
        spaces = {"action": env.action_space, "observation": env.observation_space}
    return {**{name: object_schema(space) for name, space in spaces.items()}, "state": STATE}
