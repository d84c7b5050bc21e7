"""Settings of environment processes: interpreter, variables, devices, environments made ahead, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from envwire.server._settings.checks import PAIRS, WARM, FilePath, Tables
from envwire.server._settings.setting import ABOUT, About, PerGroup, setting

_THEME = "Processes and groups"
_setting = partial(setting, _THEME)
_own = partial(_setting, per_group=PerGroup.OWN)


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """Settings of the processes in which environments run."""

    python: FilePath = _own(
        "",
        "Python interpreter of the environments, such as /opt/robots/bin/python of a virtual environment with "
        "their packages; empty for the server's own.",
    )
    variables: Sequence[str] = _own(
        (),
        "Environment variable of the environments' processes, NAME=VALUE; repeat for more.",
        PAIRS,
        option="--variable",
    )
    gpus: str = _own(
        "",
        "Devices that the environments see, such as 0 or 0,1: sets CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES. "
        "The word none hides them all; empty leaves the variables as they are.",
    )
    warm: Sequence[str] = _own(
        (),
        "Environments made ahead of their clients, ID=NUMBER or ID{JSON of keyword arguments}=NUMBER, while slots "
        "are free.",
        WARM,
    )
    groups: Tables = field(
        default_factory=dict[str, Any],
        metadata={
            ABOUT: About(
                _THEME,
                "Groups of environments, a table of settings each: interpreter, variables, devices, limits and more. "
                "Only in the file, or as JSON in the variable.",
                option="groups.NAME",
            )
        },
    )
