"""Settings of environment processes: interpreter, variables, devices, environments made ahead, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from envwire.server._settings.checks import PAIRS, WARM, FilePath, Tables
from envwire.server._settings.setting import About, PerGroup

_about = partial(About, "Processes and groups")


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """Settings of the processes in which environments run."""

    python: Annotated[
        FilePath,
        _about(
            "Python interpreter of the environments, such as /opt/robots/bin/python of a virtual environment with "
            "their packages; empty for the server's own.",
            per_group=PerGroup.OWN,
        ),
    ] = ""
    variables: Annotated[
        Sequence[str],
        _about(
            "Environment variable of the environments' processes, NAME=VALUE; repeat for more.",
            PAIRS,
            option="--variable",
            per_group=PerGroup.OWN,
        ),
    ] = ()
    gpus: Annotated[
        str,
        _about(
            "Devices that the environments see, such as 0 or 0,1: sets CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES. "
            "The word none hides them all; empty leaves the variables as they are.",
            per_group=PerGroup.OWN,
        ),
    ] = ""
    warm: Annotated[
        Sequence[str],
        _about(
            "Environments made ahead of their clients, ID=NUMBER or ID{JSON of keyword arguments}=NUMBER, while slots "
            "are free.",
            WARM,
            per_group=PerGroup.OWN,
        ),
    ] = ()
    groups: Annotated[
        Tables,
        _about(
            "Groups of environments, a table of settings each: interpreter, variables, devices, limits and more. Only "
            "in the file, or as JSON in the variable.",
            option="groups.NAME",
        ),
    ] = field(default_factory=dict[str, Any])
