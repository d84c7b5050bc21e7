"""Makes the checks, one after another, and tells what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

import grpc

from envwire.conformance.outcomes import FailedError, SkippedError, UnreachableError
from envwire.conformance.patterns import fits
from envwire.conformance.raw import Access
from envwire.conformance.suite.checks import Check, Described, Level
from envwire.conformance.suite.scene import Scene
from envwire.conformance.suite.selection import Selection
from envwire.v1 import environment_pb2 as pb

#: What a check may raise when a server answers what nobody expects.
_BROKEN = (grpc.RpcError, OSError, ValueError)


class Outcome(str, Enum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    KNOWN = "known"
    FIXED = "fixed"


@dataclass(frozen=True)
class Result:
    """One check, or scenario, and what came of it.

    Attributes:
        check: The check.
        outcome: What came of it: KNOWN is a failure that was listed, FIXED one that is listed and passes.
        text: What was expected, or why it was skipped; empty when it passed.
        exchange: What was sent and received, for a failure.
        seconds: How long it took.
    """

    check: Described
    outcome: Outcome
    text: str = ""
    exchange: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def breaks(self) -> bool:
        """Whether the server does not conform, or the list of known failures is wrong."""
        required = self.check.level is Level.REQUIRED
        return self.outcome is Outcome.FIXED or (self.outcome is Outcome.FAILED and required)


@dataclass(frozen=True)
class Runner:
    """Makes checks.

    Attributes:
        access: How to reach the server.
        selection: Which checks.
        known_failing: Patterns of names that are known to fail.
        seed: Seed of what checks draw.
        seconds: How long each wait may take.
        environments: Ids that stand for the suite's environments, by their short names.
    """

    access: Access
    selection: Selection
    known_failing: Collection[str] = ()
    seed: int = 0
    seconds: float = 10.0
    environments: dict[str, str] | None = None

    def results(self) -> Iterator[Result]:
        """Makes the checks, and yields what came of each.

        Raises:
            UnreachableError: Nobody answers at the target.
        """
        info = self._info()
        for check in self.selection.checks():
            yield self._result(check, info)

    def _info(self) -> pb.GetServerInfoResponse:
        """Returns what the server says of itself; nothing when it does not have the method."""
        with Scene(self.access, pb.GetServerInfoResponse(), seconds=self.seconds) as scene:
            answer = scene.ask("get_server_info")
        if answer.response.error.code in {
            grpc.StatusCode.UNAVAILABLE.value[0],
            grpc.StatusCode.DEADLINE_EXCEEDED.value[0],
        }:
            text = answer.response.error.message
            raise UnreachableError(f"no server answers at {self.access.target}: {text}")
        return answer.response.get_server_info

    def _open(self, info: pb.GetServerInfoResponse, link: str) -> Callable[[], Scene]:
        return lambda: Scene(
            self.access,
            info,
            link=link,
            seconds=self.seconds,
            seed=self.seed,
            environments=self.environments,
        )

    def _result(self, check: Check, info: pb.GetServerInfoResponse) -> Result:
        began = time.monotonic()
        if not self.selection.offers(check.profile, self._open(info, "unary")):
            return Result(check, Outcome.SKIPPED, f"the server does not offer {check.profile}")
        known = fits(check.name, self.known_failing)
        with self._open(info, check.link)() as scene:
            outcome, text = judged(partial(check.run, scene), known, _BROKEN)
            exchange = tuple(scene.trace.lines()) if outcome is Outcome.FAILED else ()
        return Result(check, outcome, text, exchange, time.monotonic() - began)


def judged(
    act: Callable[[], object], known: bool, broken: tuple[type[Exception], ...] = ()
) -> tuple[Outcome, str]:
    """Makes a check or plays a scenario, and returns what came of it, with a text.

    Args:
        act: Does it.
        known: Whether it is listed as failing.
        broken: Exceptions that the other side's answers may lead to: it failed then.
    """
    try:
        act()
    except SkippedError as why:
        return Outcome.SKIPPED, str(why)
    except FailedError as expected:
        text = str(expected)
    except broken as error:
        text = f"an answer, not {error!r}"
    else:
        fixed = (Outcome.FIXED, "known to fail, and passes: take it off the list")
        return fixed if known else (Outcome.PASSED, "")
    return (Outcome.KNOWN if known else Outcome.FAILED), text
