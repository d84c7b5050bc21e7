"""Settings of the served environments, the ports, and the processes of environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from envwire.server._settings import checks
from envwire.server._settings.checks import FilePath
from envwire.server._settings.setting import ABOUT, About, setting

_HOSTING, _PROCESSES = "Hosting", "Processes"
_setting = partial(setting, _HOSTING)
_process = partial(setting, _PROCESSES)
_IDS_HELP = "Ids or patterns: CartPole-v1 'ALE/*'. Quote patterns."


@dataclass(frozen=True, kw_only=True)
class HostingSettings:
    """Settings of the served environments, the ports and the placement in processes."""

    environments: Sequence[str] = field(
        kw_only=False,  # KW_ONLY would be no type to get_type_hints of Python 3.10
        metadata={ABOUT: About(_HOSTING, _IDS_HELP, option="ENVIRONMENT")},
    )
    imports: Sequence[str] = _setting(
        (), "Module that registers environments; repeat for more.", option="--import"
    )
    dev: bool = _setting(
        False,
        "For authors: import edited modules again. New environments get the edited code; those there are go on.",
    )
    host: str = _setting("127.0.0.1", "Address to bind.")
    port: int = _setting(50051, "Port to bind; 0 for any free one.", checks.PORT)
    advertise: str = _setting(
        "",
        "HOST:PORT at which clients continue after a Make, if this server answers there.",
        checks.ADDRESS,
    )
    direct_port: int = _setting(
        0,
        "Port of the direct channel, which Python clients prefer; 0 for any free port on loopback and none on "
        "other addresses, -1 for none.",
        checks.DIRECT_PORT,
    )
    sessions_per_process: int = _setting(
        1,
        "Environments that share a process: less memory, less isolation. A crash or a hang of one ends the others "
        "too.",
        checks.POSITIVE,
    )
    shared_memory: int = _setting(
        1 << 28,
        "Bytes of memory that an environment may share with a client on this machine, for large messages; 0 for "
        "none. As much as the client's arrays need is allocated.",
        checks.NOT_NEGATIVE,
    )
    compression: str = _setting(
        "auto",
        "auto: arrays for clients on other machines are compressed where they then arrive sooner, which is measured; "
        "off: never. Needs Python 3.14 or the extra compression.",
        checks.COMPRESSION,
    )
    device_memory: int = _setting(
        1 << 30,
        "Bytes of a GPU's memory that an environment may share with a client on this machine, for arrays that stay on "
        "the device; 0 for none. As much as the arrays need is allocated when the client asks for it.",
        checks.NOT_NEGATIVE,
    )
    openenv: int = _setting(
        0,
        "Port of a bridge for OpenEnv's clients, http://HOST:PORT/ENV_ID; 0 for none.",
        checks.PORT,
    )


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """Settings of the processes in which environments run."""

    python: FilePath = _process(
        "",
        "Python interpreter of the environments, such as /opt/robots/bin/python of a virtual environment with "
        "their packages; empty for the server's own.",
    )
    program: str = _process(
        "",
        "Program that hosts the environments in place of Python, with its arguments: ./simulator --fast. Each session "
        "has a process of it, which speaks the direct channel on the socket that the variable ENVWIRE_CHANNEL names.",
        checks.COMMAND,
        option="--exec",
    )
    start: str = _process(
        "auto",
        "How environments' processes start: fork, quickly and with shared memory, but without the threads that modules "
        "start when imported; spawn, as new interpreters; auto forks unless there are such threads.",
        checks.START,
    )
    variables: Sequence[str] = _process(
        (),
        "Environment variable of the environments' processes, NAME=VALUE; repeat for more.",
        checks.PAIRS,
        option="--variable",
    )
    gpus: str = _process(
        "",
        "Devices that the environments see, such as 0 or 0,1: sets CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, and for "
        "renderers EGL_VISIBLE_DEVICES and MUJOCO_EGL_DEVICE_ID, the first of them. "
        "The word none hides them all; empty leaves the variables as they are.",
    )
    warm: Sequence[str] = _process(
        (),
        "Environments made ahead of their clients, ID=NUMBER or ID{JSON of keyword arguments}=NUMBER, while slots "
        "are free.",
        checks.WARM,
    )
