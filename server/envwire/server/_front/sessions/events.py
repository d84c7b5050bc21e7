"""What happened to a session, for those who watch it: the last events, with their times."""

from __future__ import annotations

_KEPT = 32


class SessionEvents:
    """The last events of one session."""

    __slots__ = ("_events",)

    def __init__(self) -> None:
        self._events: list[tuple[float, str]] = []

    def note(self, at: float, text: str) -> None:
        """Notes an event.

        Args:
            at: When, by the server's clock.
            text: What happened.
        """
        self._events.append((at, text))
        del self._events[:-_KEPT]

    def all(self) -> tuple[tuple[float, str], ...]:
        """Returns them, the oldest first."""
        return tuple(self._events)
