"""Settings of the served environments, the ports, and the placement of environments in processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import DIRECT_PORT, NOT_NEGATIVE, PORT, POSITIVE
from envwire.server._settings.setting import About, PerGroup

_about = partial(About, "Hosting")


@dataclass(frozen=True, kw_only=True)
class HostingSettings:
    """Settings of the served environments, the ports and the placement in processes."""

    environments: Annotated[
        Sequence[str],
        _about(
            "Ids or patterns: CartPole-v1 'ALE/*'. Quote patterns.",
            option="ENVIRONMENT...",
            per_group=PerGroup.OWN,
        ),
    ] = field(kw_only=False)  # KW_ONLY would be no type to get_type_hints of Python 3.10
    imports: Annotated[
        Sequence[str],
        _about(
            "Module that registers environments; repeat for more.",
            option="--import",
            per_group=PerGroup.OWN,
        ),
    ] = ()
    dev: Annotated[
        bool,
        _about(
            "For authors: import edited modules again. New environments get the edited code; those there are go on."
        ),
    ] = False
    host: Annotated[str, _about("Address to bind.")] = "127.0.0.1"
    port: Annotated[int, _about("Port to bind; 0 for any free one.", PORT)] = 50051
    advertise: Annotated[
        str,
        _about("HOST:PORT at which clients continue after a Make, if this server answers there."),
    ] = ""
    direct_port: Annotated[
        int,
        _about(
            "Port of the direct channel, which Python clients prefer; 0 for any free port on loopback and none on "
            "other addresses, -1 for none.",
            DIRECT_PORT,
        ),
    ] = 0
    sessions_per_process: Annotated[
        int,
        _about(
            "Environments that share a process: less memory, less isolation. A crash or a hang of one ends the others "
            "too.",
            POSITIVE,
            per_group=PerGroup.INHERITED,
        ),
    ] = 1
    shared_memory: Annotated[
        int,
        _about(
            "Bytes of memory that an environment may share with a client on this machine, for large messages; 0 for "
            "none.",
            NOT_NEGATIVE,
            per_group=PerGroup.INHERITED,
        ),
    ] = 0
    openenv: Annotated[
        int,
        _about(
            "Port of a bridge for OpenEnv's clients, http://HOST:PORT/ENV_ID; 0 for none.", PORT
        ),
    ] = 0
