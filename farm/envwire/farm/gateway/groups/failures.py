"""Why servers of a group do not start, and when the next attempt is due. No I/O; callers pass the time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

#: Bounds of the pause before the next attempt, in seconds: doubled with each failure.
_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0
#: A group whose servers ended so often in a row fails: its Makes are refused until the next attempt.
_LOOP = 3
#: Failures count as one row until a server has lived for so many seconds after the last one.
_STABLE_SECONDS = 30.0


class Kind(Enum):
    """Kinds of failures, each with whether another attempt a second later may succeed."""

    IMAGE = "no image", False
    INTERPRETER = "no interpreter", False
    PACKAGES = "packages not installed", False
    SETTINGS = "wrong settings", False
    PERMISSION = "no permission", False
    MEMORY = "out of memory", True
    NOT_STARTED = "not started", True
    ENDED = "ended", True
    ENGINE = "the engine fails", True

    def __init__(self, label: str, may_pass: bool) -> None:
        self.label = label
        self.may_pass = may_pass


class Failure(NamedTuple):
    """A server that did not start, or ended by itself.

    Attributes:
        kind: The kind.
        text: What happened.
    """

    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.kind.label}: {self.text}"


class EngineError(Exception):
    """An engine that cannot do what it should.

    Args:
        failure: Why.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass
class BackOff:
    """The failures of one group, and the pauses after them.

    Attributes:
        last: The last failure; None before the first.
        at: When it happened.
        due: When the next server may be started.
    """

    last: Failure | None = None
    at: float = 0.0
    due: float = 0.0
    _row: int = 0
    _serving_since: float | None = None

    def failed(self, failure: Failure, now: float) -> bool:
        """Records a failure; returns whether it begins a pause.

        Several within one pause are one: servers that were started together fail together.
        """
        self.last, self.at = failure, now
        if now < self.due:
            return False
        self._row += 1
        self.due = now + min(_FIRST_PAUSE * 2 ** (self._row - 1), _MAX_PAUSE)
        return True

    def serves(self, now: float, *, serves: bool) -> None:
        """Records whether the group has a server."""
        if not serves:
            self._serving_since = None
        elif self._serving_since is None:
            self._serving_since = now
        elif now - max(self._serving_since, self.at) > _STABLE_SECONDS:
            self.forget()

    def forget(self) -> None:
        """Ends the row, and its pause: all is well, or an operator wants another attempt at once."""
        self._row, self.due = 0, 0.0

    def waits(self, now: float) -> bool:
        """Returns whether no server may be started yet."""
        return now < self.due

    def fails(self, now: float) -> bool:
        """Returns whether the group is not expected to get a server before the pause is over."""
        hopeless = self.last is not None and not self.last.kind.may_pass
        return self.waits(now) and (hopeless or self._row >= _LOOP)
