"""Settings of the served environments, the ports, and the placement of environments in processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from envwire.server._settings.checks import DIRECT_PORT, NOT_NEGATIVE, PORT, POSITIVE
from envwire.server._settings.setting import ABOUT, About, PerGroup, setting

_THEME = "Hosting"
_setting = partial(setting, _THEME)
_own = partial(_setting, per_group=PerGroup.OWN)
_inherited = partial(_setting, per_group=PerGroup.INHERITED)
_IDS_HELP = "Ids or patterns: CartPole-v1 'ALE/*'. Quote patterns."


@dataclass(frozen=True, kw_only=True)
class HostingSettings:
    """Settings of the served environments, the ports and the placement in processes."""

    environments: Sequence[str] = field(
        kw_only=False,  # KW_ONLY would be no type to get_type_hints of Python 3.10
        metadata={ABOUT: About(_THEME, _IDS_HELP, option="ENVIRONMENT", per_group=PerGroup.OWN)},
    )
    imports: Sequence[str] = _own(
        (), "Module that registers environments; repeat for more.", option="--import"
    )
    dev: bool = _setting(
        False,
        "For authors: import edited modules again. New environments get the edited code; those there are go on.",
    )
    host: str = _setting("127.0.0.1", "Address to bind.")
    port: int = _setting(50051, "Port to bind; 0 for any free one.", PORT)
    advertise: str = _setting(
        "", "HOST:PORT at which clients continue after a Make, if this server answers there."
    )
    direct_port: int = _setting(
        0,
        "Port of the direct channel, which Python clients prefer; 0 for any free port on loopback and none on "
        "other addresses, -1 for none.",
        DIRECT_PORT,
    )
    sessions_per_process: int = _inherited(
        1,
        "Environments that share a process: less memory, less isolation. A crash or a hang of one ends the others "
        "too.",
        POSITIVE,
    )
    shared_memory: int = _inherited(
        0,
        "Bytes of memory that an environment may share with a client on this machine, for large messages; 0 for "
        "none.",
        NOT_NEGATIVE,
    )
    openenv: int = _setting(
        0, "Port of a bridge for OpenEnv's clients, http://HOST:PORT/ENV_ID; 0 for none.", PORT
    )
