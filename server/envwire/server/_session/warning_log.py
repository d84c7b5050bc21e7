"""Collects the warnings of environments, for the clients that caused them."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from envwire.codec import encode_warnings


class WarningLog:
    """The warnings of one session, which are issued again in its client's process."""

    def __init__(self) -> None:
        self.given: list[tuple[type[Warning], str]] = []

    def take(self) -> list[tuple[type[Warning], str]]:
        """Returns and clears the warnings since the last call."""
        given, self.given = self.given, []
        return given

    def move_to(self, body: Any) -> None:
        """Writes the warnings since the last call into the body of an answer."""
        body.warnings.extend(encode_warnings(self.take()))


class WarningRecorder:
    """Adds the process's warnings to the log of the session that is being served.

    It is installed only in session processes, whose warnings would otherwise reach no user.

    Attributes:
        log: Log of the session that is being served.
    """

    def __init__(self) -> None:
        self.log = WarningLog()

    @contextmanager
    def installed(self) -> Generator[None]:
        """Replaces `warnings.showwarning`; filters are applied in the client's process."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._record
            yield

    def _record(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        self.log.given.append((category, str(message)))
