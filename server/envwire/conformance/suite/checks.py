"""A check, and the decorators that register a function as one check, or as one per case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.conformance.suite.context import CheckContext

#: Links over which a core check can run, with the profile of each.
LINKS = {"unary": "core", "stream": "stream", "direct": "direct"}
UNARY = ("unary",)
ALL = tuple(LINKS)


class Level(str, Enum):
    """Whether a server that fails a check still conforms."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"


@dataclass(frozen=True)
class Description:
    """What reports say about a check or a scenario.

    Attributes:
        name: File, function, case and link, such as "sequence.gap[stream]".
        profile: What a server has to offer for the check to run; for a scenario, its transport.
        proves: Ids of the sentences in docs/protocol.md that it proves.
        level: Whether it is required.
        summary: What the server, or the client, has to do, in one sentence.
    """

    name: str
    profile: str
    proves: tuple[str, ...]
    level: Level
    summary: str


@dataclass(frozen=True)
class Check(Description):
    """One check.

    Attributes:
        run: Runs the check.
        link: The link over which it runs.
    """

    run: Callable[[CheckContext], None]
    link: str


#: All checks, in running order.
CHECKS: list[Check] = []


def check(
    proves: str,
    *,
    over: Sequence[str] = UNARY,
    profile: str = "core",
    level: Level = Level.REQUIRED,
) -> Callable[[Callable[[CheckContext], None]], Callable[[CheckContext], None]]:
    """Registers a function as a check, once for each link.

    Args:
        proves: Ids of sentences, separated by blanks.
        over: The links; the profile of a "core" check is that of its link.
        profile: What a server has to offer.
        level: Whether it is required.
    """

    def decorate(function: Callable[[CheckContext], None]) -> Callable[[CheckContext], None]:
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
) -> Callable[[Callable[[CheckContext, Any], None]], Callable[[CheckContext, Any], None]]:
    """Registers a function as a check for each row of a table, which is its second argument (see `check`)."""

    def decorate(
        function: Callable[[CheckContext, Any], None],
    ) -> Callable[[CheckContext, Any], None]:
        for name, case in table.items():
            run = partial(_with_case, function, case)
            for link in over:
                _add(function, run, f"/{name}", proves, link, profile, level)
        return function

    return decorate


def _with_case(
    function: Callable[[CheckContext, Any], None], case: Any, context: CheckContext
) -> None:
    function(context, case)


def _add(
    function: Callable[..., None],
    run: Callable[[CheckContext], None],
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
