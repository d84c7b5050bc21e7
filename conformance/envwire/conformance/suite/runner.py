"""Runs the checks, one after another, and yields the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

import grpc
from google.protobuf.message import DecodeError

from envwire.conformance.outcomes import FailedError, SkippedError, UnreachableError
from envwire.conformance.patterns import fits
from envwire.conformance.raw import Access
from envwire.conformance.raw.trace import one_line
from envwire.conformance.suite.checks import Check, Description, Level
from envwire.conformance.suite.context import CheckContext
from envwire.conformance.suite.selection import Selection
from envwire.v1 import environment_pb2 as pb


class Outcome(str, Enum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    KNOWN = "known"
    FIXED = "fixed"


@dataclass(frozen=True)
class Result:
    """The result of one check or scenario.

    Attributes:
        check: The check.
        outcome: Its outcome: KNOWN is a listed failure, FIXED a listed failure that passes.
        text: What was expected, or why it was skipped; empty if it passed.
        exchange: What was sent and received, for a failure.
        seconds: Its duration.
        missing: Id of the environment for want of which it was skipped; empty if the server may leave that out.
    """

    check: Description
    outcome: Outcome
    text: str = ""
    exchange: tuple[str, ...] = ()
    seconds: float = 0.0
    missing: str = ""

    @property
    def breaks(self) -> bool:
        """Whether it makes the run fail: the server does not conform, or the list of known failures is wrong."""
        required = self.check.level is Level.REQUIRED
        return self.outcome is Outcome.FIXED or (self.outcome is Outcome.FAILED and required)


@dataclass(frozen=True)
class Runner:
    """Runs checks.

    Attributes:
        access: How to reach the server.
        selection: The checks to run.
        known_failing: Patterns of the names of checks that are known to fail.
        seed: Seed of the random numbers that checks draw.
        seconds: Longest wait, in seconds.
        environments: Ids to use for the suite's environments, by their short names.
    """

    access: Access
    selection: Selection
    known_failing: Collection[str] = ()
    seed: int = 0
    seconds: float = 10.0
    environments: dict[str, str] | None = None

    def results(self) -> Iterator[Result]:
        """Runs the checks, and yields the result of each.

        Raises:
            UnreachableError: No server answers at the target.
        """
        info = self._info()
        for check in self.selection.checks():
            yield self._result(check, info)

    def _info(self) -> pb.GetServerInfoResponse:
        """Returns the server's GetServerInfo answer; an empty one if it has none that can be read."""
        with CheckContext(self.access, pb.GetServerInfoResponse(), seconds=self.seconds) as context:
            try:
                answer = context.ask("get_server_info")
            except (DecodeError, FailedError):  # what is wrong with it, its checks say
                return pb.GetServerInfoResponse()
        if answer.response.error.code in {
            grpc.StatusCode.UNAVAILABLE.value[0],
            grpc.StatusCode.DEADLINE_EXCEEDED.value[0],
        }:
            text = answer.response.error.message
            raise UnreachableError(f"no server answers at {self.access.target}: {text}")
        return answer.response.get_server_info

    def _open(self, info: pb.GetServerInfoResponse, link: str) -> Callable[[], CheckContext]:
        return lambda: CheckContext(
            self.access,
            info,
            link=link,
            seconds=self.seconds,
            seed=self.seed,
            environments=self.environments,
        )

    def _result(self, check: Check, info: pb.GetServerInfoResponse) -> Result:
        began = time.monotonic()
        known = fits(check.name, self.known_failing)
        with self._open(info, check.link)() as context:
            outcome, text = outcome_of(partial(self._run, check, context), known)
            exchange = tuple(context.trace.lines()) if outcome is Outcome.FAILED else ()
        seconds = time.monotonic() - began
        return Result(check, outcome, text, exchange, seconds, context.missing)

    def _run(self, check: Check, context: CheckContext) -> None:
        if not self.selection.offers(check.profile, self._open(context.info, "unary")):
            raise SkippedError(f"the server does not offer {check.profile}")
        check.run(context)


def outcome_of(act: Callable[[], object], known: bool) -> tuple[Outcome, str]:
    """Runs a check or a scenario, and returns its outcome and a text of one line.

    Args:
        act: Runs it. It may raise anything, since it reads the peer's answers as the protocol has them.
        known: Whether it is listed as failing.
    """
    try:
        act()
    except SkippedError as why:
        return Outcome.SKIPPED, one_line(str(why))
    except FailedError as expected:
        text = str(expected)
    except Exception as error:
        text = f"an answer, not {error!r}"
    else:
        fixed = (Outcome.FIXED, "known to fail, and passes: take it off the list")
        return fixed if known else (Outcome.PASSED, "")
    return (Outcome.KNOWN if known else Outcome.FAILED), one_line(text)
