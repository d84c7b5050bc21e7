"""A check, and the decorators that make a function one, or a table of cases several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.conformance.suite.scene import Scene

#: Links over which a check of the core can be made, with the profile that each belongs to.
LINKS = {"unary": "core", "stream": "stream", "direct": "direct"}
UNARY = ("unary",)
ALL = tuple(LINKS)


class Level(str, Enum):
    """Whether a server that fails a check still conforms."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"


@dataclass(frozen=True)
class Described:
    """What a report tells of a check, or of a scenario.

    Attributes:
        name: "sequence.gap[stream]": file, function, case and link.
        profile: What a server must offer for it to be made; of a scenario, its transport.
        proves: Ids of the sentences in docs/protocol.md that it proves.
        level: Whether it is required.
        summary: What the server, or the client, does, in a sentence.
    """

    name: str
    profile: str
    proves: tuple[str, ...]
    level: Level
    summary: str


@dataclass(frozen=True)
class Check(Described):
    """One check.

    Attributes:
        run: Makes the check.
        link: What it is made over.
    """

    run: Callable[[Scene], None]
    link: str


#: All checks, in the order in which they are made.
CHECKS: list[Check] = []


def check(
    proves: str,
    *,
    over: Sequence[str] = UNARY,
    profile: str = "core",
    level: Level = Level.REQUIRED,
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Makes a function a check, over each of some links.

    Args:
        proves: Ids of sentences, separated by blanks.
        over: The links; the profile of a check of "core" is that of its link.
        profile: What a server must offer.
        level: Whether it is required.
    """

    def decorate(function: Callable[[Scene], None]) -> Callable[[Scene], None]:
        for link in over:
            _add(function, function, "", proves, link, profile, level)
        return function

    return decorate


def cases(
    table: Mapping[str, Any],
    proves: str,
    *,
    over: Sequence[str] = UNARY,
    profile: str = "core",
    level: Level = Level.REQUIRED,
) -> Callable[[Callable[[Scene, Any], None]], Callable[[Scene, Any], None]]:
    """Makes a function a check for each row of a table, which it gets as its second argument. See `check`."""

    def decorate(function: Callable[[Scene, Any], None]) -> Callable[[Scene, Any], None]:
        for name, case in table.items():
            run = partial(_with_case, function, case)
            for link in over:
                _add(function, run, f"/{name}", proves, link, profile, level)
        return function

    return decorate


def _with_case(function: Callable[[Scene, Any], None], case: Any, scene: Scene) -> None:
    function(scene, case)


def _add(
    function: Callable[..., None],
    run: Callable[[Scene], None],
    case: str,
    proves: str,
    link: str,
    profile: str,
    level: Level,
) -> None:
    module = function.__module__.rpartition(".")[2]
    name = f"{module}.{function.__name__.replace('_', '-')}{case}[{link}]"
    summary = (function.__doc__ or "").strip().partition("\n")[0]
    kept = LINKS[link] if profile == "core" else profile
    CHECKS.append(Check(name, kept, tuple(proves.split()), level, summary, run, link))
