"""Turns the outcome of a request into a return value or an exception, and issues the environment's warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from envwire.client._session.events import Answered, Event, Refused
from envwire.client._session.states import ProtocolError
from envwire.codec import decode_warnings


class Outcome:
    """Turns events into results.

    Args:
        label: Shown as the source of the environment's warnings.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._warned: dict[str | tuple[Any, ...], Any] = {}

    def of(self, event: Event) -> Any:
        """Returns the result of a request.

        Raises:
            Exception: The error that it was answered with.
        """
        if type(event) is Answered:
            if event.warnings:
                self._warn(decode_warnings(event.warnings))
            return event.result
        if isinstance(event, Refused):
            self._warn(event.warnings)
            raise event.error
        raise ProtocolError(f"{event} is not the outcome of a request")

    def _warn(self, given: Iterable[tuple[type[Warning], str]]) -> None:
        """Issues the environment's warnings in this program, whose filters apply to them."""
        for category, text in given:
            warnings.warn_explicit(text, category, self._label, 0, "envwire.remote", self._warned)
