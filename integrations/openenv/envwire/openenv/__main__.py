"""The bridge's process: reads settings from standard input, reports when it serves, ends when that input closes."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys

from envwire.openenv.settings import BridgeSettings
from envwire.server._guarded_output import guard_output
from envwire.server._ipc.child_program import READY, at_end_of_input

_PING_SECONDS = 20.0
_STOP_SECONDS = 5
_BACKLOG = 128


async def _serve(settings: BridgeSettings) -> None:
    import uvicorn

    from envwire.openenv.app import application

    listener = socket.create_server(
        (settings.host.strip("[]"), settings.port),
        family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
        backlog=_BACKLOG,
    )
    config = uvicorn.Config(
        application(settings),
        ws="websockets-sansio",
        ws_max_size=settings.max_message_bytes,
        ws_max_queue=1,
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PING_SECONDS,
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=settings.tls_cert or None,
        ssl_keyfile=settings.tls_key or None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)

    at_end_of_input(lambda: setattr(server, "should_exit", True))
    # Earlier connections wait in the backlog.
    print(f"{READY}{settings.host}:{settings.port}", flush=True)
    await server.serve(sockets=[listener])


def main() -> int:
    """Serves until the server that started this process closes its standard input."""
    guard_output()
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
    settings = BridgeSettings.from_json(sys.stdin.readline())
    try:
        asyncio.run(_serve(settings))
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed; --openenv needs: pip install 'envwire[openenv]'")
        return 1
    except OSError as error:
        print(f"cannot bind {settings.host}:{settings.port} for --openenv: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
