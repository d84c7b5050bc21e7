"""What clients have used of a farm since its gateway started, as the servers report it. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envwire.farm.v1 import farm_pb2 as pb

#: Number of pairs of client and environment that are kept; of one report; and characters of their texts.
_KEPT, _REPORTED, _CHARACTERS = 10_000, 1000, 255
#: All that are beyond that.
_OTHERS = ("others", "")

Reported = Mapping[tuple[str, str], pb.Usage]


class FarmUsage:
    """The use of a farm's slots by client and environment. The sums only grow, also when servers leave."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], pb.Usage] = {}

    def add(self, former: Reported | None, usage: Iterable[pb.Usage]) -> Reported:
        """Adds what was used of a server between two reports; returns the later one.

        Args:
            former: The earlier report; None before the first, since when the gateway counts.
            usage: The later one, which is not trusted.
        """
        now = {_key(each): each for each in list(usage)[:_REPORTED]}
        for key, each in now.items():
            # Of the sessions before the first report, the open ones count, from now on.
            counted = each.sessions - each.open_sessions
            new = pb.Usage(sessions=counted, slot_milliseconds=each.slot_milliseconds)
            before = new if former is None else former.get(key, pb.Usage())
            self._add(
                key,
                each.sessions - before.sessions,
                each.slot_milliseconds - before.slot_milliseconds,
            )
        return now

    def _add(self, key: tuple[str, str], sessions: int, milliseconds: int) -> None:
        if key not in self._used and len(self._used) >= _KEPT:
            key = _OTHERS
        used = self._used.setdefault(key, pb.Usage(principal=key[0], env_id=key[1]))
        used.sessions += max(sessions, 0)
        used.slot_milliseconds += max(milliseconds, 0)

    def list(self, reported: Iterable[Reported]) -> list[pb.Usage]:
        """Returns what was used, in order.

        Args:
            reported: The last reports of the servers that live, for the sessions that are open.
        """
        listed = {key: pb.Usage() for key in self._used}
        for key, used in self._used.items():
            listed[key].CopyFrom(used)
        for report in reported:
            for key, each in report.items():
                listed[key if key in listed else _OTHERS].open_sessions += each.open_sessions
        return [listed[key] for key in sorted(listed)]


def _key(usage: pb.Usage) -> tuple[str, str]:
    return _shown(usage.principal), _shown(usage.env_id)


def _shown(text: str) -> str:
    """Returns a text that may be listed: a server wrote it."""
    return "".join(each if each.isprintable() else "?" for each in text[:_CHARACTERS])
