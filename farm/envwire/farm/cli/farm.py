"""`envwire farm`: run many servers behind a gateway, and show the status of any farm."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from envwire.farm.cli.gateway import gateway as serve_gateway
from envwire.farm.cli.groups import groups, pause, resume, scale
from envwire.farm.cli.join import join
from envwire.farm.cli.status import status
from envwire.farm.cli.usage import usage
from envwire.farm.gateway import config as gateway
from envwire.farm.gateway.groups.group_config import ENGINES, GROUPS, read_groups
from envwire.server._grammar import enumerated
from envwire.server._logs import TEXT, log_to_stderr
from envwire.server._settings.setting import gather
from envwire.server.cli._failures import starting
from envwire.server.cli._serve import EPILOG, Dashboard, DashboardPort, live_page
from envwire.server.cli._settings_options import ConfigFile, given, take_settings
from envwire.server.config import SETTINGS

#: Settings that the farm chooses, or that make no sense for servers whose machine is not known in advance.
_NOT_HERE = {
    *("host", "port", "advertise", "direct_port", "http_port", "openenv"),
    "tunnel",
    *("tls_cert", "tls_key", "tls_client_ca", "insecure"),
}
#: Settings of servers that do not find their gateways by themselves: pods.
_OF_PODS = ("join", "join_token")
#: Settings of the gateway's own address, where servers stay on loopback.
_ADDRESS = ("host", "direct_port", "tls_cert", "tls_key", "relay")
#: Settings of the gateway: Makes wait, and quotas are counted, at the farm's one address.
_OF_THE_GATEWAY = {
    name: gateway.SETTINGS[name] for name in ("queue", "queue_timeout", "quota", *_ADDRESS)
}


class EngineName(str, Enum):
    """The engine that runs the servers."""

    LOCAL = "local"
    DOCKER = "docker"
    KUBERNETES = "kubernetes"
    COMPOSE = "compose"
    RAY = "ray"


command = typer.Typer(
    help="Run many servers behind one address, and look at them.",
    no_args_is_help=True,
    add_completion=False,
)


_OF_SERVERS = {name: each for name, each in SETTINGS.items() if name not in _NOT_HERE}
_TAKEN = {**_OF_SERVERS, GROUPS.name: GROUPS, **_OF_THE_GATEWAY}
_Servers = Annotated[int, typer.Option("--servers", "-n", help="How many servers.", min=1)]
_Port = Annotated[int, typer.Option(help="Port of the gateway; 0 for any free one.")]
_HttpPort = Annotated[
    int, typer.Option(help="Port of HTTP for operators, of the gateway; 0 for none.")
]
_On = Annotated[
    EngineName,
    typer.Option(
        help="Processes of this machine, containers of Docker or pods of Kubernetes (for groups), containers of Docker "
        "Compose, or actors of the Ray cluster at RAY_ADDRESS."
    ),
]
_Image = Annotated[str, typer.Option(help="Image of the containers, for --on compose.")]
_Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="The network between Ray's nodes is trusted, for --on ray."),
]
_Min = Annotated[
    int | None, typer.Option("--min", help="Fewest servers, for --on ray; else --servers.", min=0)
]
_Max = Annotated[
    int | None, typer.Option("--max", help="Most servers, for --on ray; else --servers.", min=1)
]
_Free = Annotated[
    int,
    typer.Option(
        help="With --min or --max: one more server is started when fewer slots are free.", min=1
    ),
]
_Idle = Annotated[
    float,
    typer.Option(
        help="With --min or --max: seconds after which a server is drained if twice --free were free without it.",
        min=0,
    ),
]


def up(
    ctx: typer.Context,
    *,
    servers: _Servers = 4,
    on: _On = EngineName.LOCAL,
    port: _Port = 50050,
    http_port: _HttpPort = 0,
    image: _Image = "envwire-server",
    insecure: _Insecure = False,
    least: _Min = None,
    most: _Max = None,
    free: _Free = 1,
    idle: _Idle = 60.0,
    dashboard: Dashboard = False,
    dashboard_port: DashboardPort = 50080,
    config: ConfigFile = "",
    **options: Any,
) -> None:
    """Run servers of ENVIRONMENTS behind a gateway, until SIGTERM or Ctrl-C: processes, containers or Ray actors.

    Prints "ready: HOST:PORT", the gateway's address, when clients can connect. A server that ends is started again.

    With a file that has groups, servers start when a client makes an environment of their group, and stop when nobody
    uses them.

    Example: envwire farm up -n 4 CartPole-v1

    Example: envwire farm up --config farm.toml
    """
    # gRPC's fork support would log a line for each started server, and a fork followed by exec does not need it.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    with starting("farm up"):
        if (least or most) and on is not EngineName.RAY:
            raise ValueError("--min and --max are for --on ray; other farms keep to --servers")
        if least == 0:
            raise ValueError(
                "--min 0: a farm on Ray keeps --free slots free, and so a server at all times; give 1 or more. "
                "Groups of servers on demand go down to none: see docs/on-demand.md"
            )
        settings = gather(_TAKEN, given(ctx, options), os.environ, config)
        tokens = settings.get("tokens", "")
        if tokens and on not in (EngineName.LOCAL, EngineName.DOCKER, EngineName.KUBERNETES):
            raise ValueError("--tokens is for --on local; docker/farm-tls.yaml has containers")
        own = {name: settings.pop(name) for name in _OF_THE_GATEWAY if name in settings}
        front = gateway.GatewayConfig(
            port=port, http_port=http_port, insecure=insecure, tokens=tokens, **own
        )
        _check_address(front, on, {*own} & {*_ADDRESS})
        shown = dashboard or bool(http_port)
        settings["count_episodes"] = shown or settings.get("count_episodes", False)
        log_to_stderr(settings.get("log_format", TEXT))
        run = (
            partial(_groups_farm, settings, on, front)
            if settings.get("groups")
            else partial(
                _farm, servers, settings, on, front, image, Bounds(least, most, free, idle)
            )
        )
        with live_page("farm up", dashboard, dashboard_port) as ready:
            run(ready)


def _check_address(front: gateway.GatewayConfig, on: EngineName, given: set[str]) -> None:
    """Refuses an address of the gateway that agents, or servers, could not use."""
    if on is EngineName.KUBERNETES:
        return  # pods have addresses of their own
    if on not in (EngineName.LOCAL, EngineName.DOCKER):
        if given:
            raise ValueError(
                f"{sorted(given)[0]} is for --on local, docker and kubernetes, not {on.value}"
            )
    elif not (front.loopback or front.relay):
        raise ValueError(
            f"servers of this farm are on loopback, so agents that reach {front.host} do not reach them: give --relay "
            "as well, and the gateway relays all that they do"
        )


class Bounds(NamedTuple):
    """The options of a farm on Ray that grows and shrinks."""

    least: int | None
    most: int | None
    free: int
    idle: float


def _farm(
    servers: int,
    settings: dict[str, Any],
    on: EngineName,
    front: gateway.GatewayConfig,
    image: str,
    bounds: Bounds,
    ready: Callable[[str], None],
) -> None:
    """Runs equal servers."""
    from envwire.farm.engines import compose, local, ray
    from envwire.farm.engines.scaling import Scale
    from envwire.server.config import ServerConfig

    if on in (EngineName.DOCKER, EngineName.KUBERNETES):
        raise ValueError(
            f"--on {on.value} runs groups, which --config names; see docs/on-demand.md"
        )
    if given := sorted(settings.keys() & set(_OF_PODS)):
        raise ValueError(
            f"{given[0]} is for groups on kubernetes; other servers know their gateway"
        )
    grows = bounds.least or bounds.most
    scale = (
        Scale(bounds.least or servers, bounds.most or servers, bounds.free, bounds.idle)
        if grows
        else None
    )
    engines: dict[EngineName, Callable[..., None]] = {
        EngineName.LOCAL: local.run,
        EngineName.COMPOSE: partial(compose.run, image=image),
        EngineName.RAY: partial(ray.run, scale=scale),
    }
    settings.setdefault("environments", ())
    paths = () if on is EngineName.COMPOSE else (os.getcwd(),)
    engines[on](servers, ServerConfig(**settings, sys_path=paths), front, ready)


def _groups_farm(
    settings: dict[str, Any],
    on: EngineName,
    front: gateway.GatewayConfig,
    ready: Callable[[str], None],
) -> None:
    """Runs groups of servers on demand."""
    from envwire.farm.engines import groups_farm

    if on.value not in ENGINES:
        raise ValueError(f"groups run on {enumerated(ENGINES, 'or')}, not on {on.value}")
    if settings.pop("environments", ()):
        raise ValueError(
            "environments are in the tables of groups here: add [groups.main], with environments and min = 1"
        )
    tables = settings.pop("groups")
    groups_farm.run(read_groups(tables, settings, [*_OF_SERVERS], on.value), front, ready)


take_settings(up, _TAKEN)
command.command()(up)
command.command("gateway", epilog=EPILOG)(serve_gateway)
for each in (join, status, groups, scale, pause, resume, usage):
    command.command()(each)
