"""`envwire farm`: a farm on this machine, and a look at any farm."""

from __future__ import annotations

import inspect
import os
from typing import Annotated, Any

import typer

from envwire.server._logs.setup import log_to_stderr
from envwire.server._settings.sources import gather
from envwire.server.cli._inspect.farm_status import status
from envwire.server.cli._serve.settings_options import given, keyword, take_settings
from envwire.server.cli._serve.starting import starting
from envwire.server.config import SETTINGS

#: Settings that differ between the servers, or make no sense for a farm on one machine.
_NOT_HERE = {
    *(
        "host",
        "port",
        "advertise",
        "direct_port",
        "http_port",
        "openenv",
        "join",
        "join_token",
        "join_ca",
    ),
    *("tls_cert", "tls_key", "tls_client_ca", "tokens", "insecure"),
}

farm = typer.Typer(
    help="Run many servers behind one address, and look at them.", no_args_is_help=True
)


def up(
    ctx: typer.Context, servers: int, port: int, http_port: int, config: str, **options: Any
) -> None:
    """Run servers of ENVIRONMENTS behind a gateway on this machine, until SIGTERM or Ctrl-C.

    Prints "ready: HOST:PORT", the gateway's address, when clients can connect. A server that ends is started again.

    Example: envwire farm up -n 4 CartPole-v1
    """
    # gRPC's fork support would log a line for each server that is started; a fork that is followed by exec needs none.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    with starting("farm up"):
        from envwire.farm.engines.local import run
        from envwire.farm.gateway.config import GatewayConfig
        from envwire.server.config import ServerConfig

        settings = gather(_TAKEN, given(ctx, options), os.environ, config)
        settings.setdefault("environments", ())
        server = ServerConfig(**settings, sys_path=(os.getcwd(),))
        log_to_stderr(server.log_format)
        run(
            servers,
            server,
            GatewayConfig(port=port, http_port=http_port),
            lambda target: print(f"ready: {target}", flush=True),
        )


_TAKEN = {name: setting for name, setting in SETTINGS.items() if name not in _NOT_HERE}
_Servers = Annotated[int, typer.Option("--servers", "-n", help="How many servers.", min=1)]
_Port = Annotated[int, typer.Option(help="Port of the gateway; 0 for any free one.")]
_HttpPort = Annotated[
    int, typer.Option(help="Port of HTTP for operators, of the gateway; 0 for none.")
]
_OTHERS: tuple[inspect.Parameter, ...] = (
    keyword("servers", 4, _Servers),
    keyword("port", 50050, _Port),
    keyword("http_port", 0, _HttpPort),
)

take_settings(up, _TAKEN, *_OTHERS)
farm.command()(up)
farm.command()(status)
