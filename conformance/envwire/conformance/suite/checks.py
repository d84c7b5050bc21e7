"""A check, and the decorators that register a function as one check, or as one per case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
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
    return cases({"": None}, proves, over=over, profile=profile, level=level)


def cases(
    table: Mapping[str, Any],
    proves: str,
    *,
    over: Sequence[str] = UNARY,
    profile: str = "core",
    level: Level = Level.REQUIRED,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a function as a check for each row of a table, which is its second argument (see `check`)."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for case, link in product(table, over):
            kept = LINKS[link] if profile == "core" else profile
            name, summary = described(function, case, link)
            run = with_case(function, table, case)
            CHECKS.append(Check(name, kept, tuple(proves.split()), level, summary, run, link))
        return function

    return decorate


def described(function: Callable[..., None], case: str, link: str) -> tuple[str, str]:
    """Returns the name of a function's check or scenario, and its summary, the first line of the docstring."""
    module = function.__module__.rpartition(".")[2]
    title = f"{module}.{function.__name__.replace('_', '-')}"
    summary = (function.__doc__ or "").strip().partition("\n")[0]
    return f"{title}{f'/{case}' if case else ''}[{link}]", summary


def with_case(
    function: Callable[..., None], table: Mapping[str, Any], case: str
) -> Callable[[Any], None]:
    """Returns a function of the context alone; the case without a name adds no argument."""
    return (lambda context: function(context, table[case])) if case else function
