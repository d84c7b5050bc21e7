"""What clients have used of a farm since its gateway started, as the servers report it. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from envwire.farm.v1 import farm_pb2 as pb

#: Number of pairs of client and environment that are kept; of one report; and characters of their texts.
_KEPT, _REPORTED, _CHARACTERS = 10_000, 1000, 255
#: All that are beyond that.
_OTHERS = ("others", "")
_MOST, _MOST_OPEN = 2**64 - 1, 2**32 - 1


class Used(NamedTuple):
    """What a client used of an environment. Plain numbers: a message would keep the report that it came in.

    Attributes:
        sessions: Number of sessions, those that are open included.
        open_sessions: Number of these that are open.
        milliseconds: Time that they held a slot.
    """

    sessions: int = 0
    open_sessions: int = 0
    milliseconds: int = 0

    def plus(self, other: Used) -> Used:
        """Returns the sum."""
        return Used(*(one + another for one, another in zip(self, other, strict=True)))


Reported = Mapping[tuple[str, str], Used]


class FarmUsage:
    """The use of a farm's slots by client and environment. The sums only grow, also when servers leave."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], Used] = {}
        #: Each key itself, so that the reports of all servers share their texts.
        self._keys: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, former: Reported | None, usage: Iterable[pb.Usage]) -> Reported:
        """Adds what was used of a server between two reports; returns the later one.

        Args:
            former: The earlier report; None before the first, since when the gateway counts.
            usage: The later one, which is not trusted.
        """
        now: dict[tuple[str, str], Used] = {}
        for each in list(usage)[:_REPORTED]:
            key = self._key(each)
            numbers = Used(each.sessions, each.open_sessions, each.slot_milliseconds)
            now[key] = now.get(key, Used()).plus(numbers)
        for key, used in now.items():
            # Of the sessions before the first report, the open ones count, from now on.
            counted = Used(used.sessions - used.open_sessions, 0, used.milliseconds)
            before = counted if former is None else former.get(key, Used())
            more = Used(
                max(used.sessions - before.sessions, 0),
                milliseconds=max(used.milliseconds - before.milliseconds, 0),
            )
            self._used[key] = self._used[key].plus(more)
        return now

    def _key(self, usage: pb.Usage) -> tuple[str, str]:
        """Returns the key under which something is counted."""
        key = _shown(usage.principal), _shown(usage.env_id)
        if key not in self._used:
            if len(self._used) >= _KEPT:
                key = _OTHERS
            self._keys.setdefault(key, key)
            self._used.setdefault(key, Used())
        return self._keys[key]

    def list(self, reported: Iterable[Reported]) -> list[pb.Usage]:
        """Returns what was used, in order.

        Args:
            reported: The last reports of the servers that live, for the sessions that are open.
        """
        listed = dict(self._used)
        for report in reported:
            for key, used in report.items():
                listed[key] = listed[key].plus(Used(open_sessions=used.open_sessions))
        return [
            pb.Usage(
                principal=key[0],
                env_id=key[1],
                sessions=min(used.sessions, _MOST),
                open_sessions=min(used.open_sessions, _MOST_OPEN),
                slot_milliseconds=min(used.milliseconds, _MOST),
            )
            for key, used in sorted(listed.items())
        ]


def _shown(text: str) -> str:
    """Returns a text that may be listed: a server wrote it."""
    return "".join(each if each.isprintable() else "?" for each in text[:_CHARACTERS])
