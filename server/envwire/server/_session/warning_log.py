"""Collects the warnings of environments for the clients that caused them."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class WarningLog:
    """The warnings of one session, for its client to give again."""

    def __init__(self) -> None:
        self.given: list[tuple[type[Warning], str]] = []

    def take(self) -> list[tuple[type[Warning], str]]:
        """Returns the warnings given since the last call."""
        given, self.given = self.given, []
        return given


class WarningRecorder:
    """Writes what the process is warned of into the log of the session that is being served.

    It is installed in session processes only: there, nobody else is there to read the warnings.

    Attributes:
        log: The log of that session.
    """

    def __init__(self) -> None:
        self.log = WarningLog()

    @contextmanager
    def installed(self) -> Generator[None]:
        """Takes over how warnings are shown; filtering is left to the client's process."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._record
            yield

    def _record(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        self.log.given.append((category, str(message)))
