"""The farm that the server joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import PAIRS, FilePath
from envwire.server._settings.setting import About

_about = partial(About, "Farm")


@dataclass(frozen=True, kw_only=True)
class FarmSettings:
    """Settings of a server of a farm."""

    join: Annotated[
        Sequence[str],
        _about("HOST:PORT of a farm's gateway to register with; repeat, or separate by commas."),
    ] = ()
    join_token: Annotated[
        FilePath, _about("File with the token, of scope join, for the gateways.")
    ] = ""
    join_ca: Annotated[
        FilePath, _about("PEM file of the CA that issued the gateways' certificates.")
    ] = ""
    labels: Annotated[
        Sequence[str],
        _about("NAME=VALUE that allocations in the farm can ask for.", PAIRS, option="--label"),
    ] = ()
