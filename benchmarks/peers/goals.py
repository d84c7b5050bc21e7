"""The goals with which a run is compared: ratios between cases of one group, taken round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.peers.plan import CLIENTS, SIZES
from benchmarks.peers.results import Results, Spread

#: The transports that have goals.
TCP, SHARED = "direct-tcp", "direct-shm"

Ratios = Callable[[Results], Sequence[float]]


@dataclass(frozen=True)
class Goal:
    """One goal.

    Attributes:
        section: Key of the section that measures it.
        text: Description.
        ratios: Reads the ratio of each round; empty if one of the two was not measured.
        most: Upper bound of the median, or None.
        least: Lower bound of the median, or None.
    """

    section: str
    text: str
    ratios: Ratios
    most: float | None = None
    least: float | None = None

    @property
    def bound(self) -> str:
        """The bound in words."""
        return f"at most {self.most}" if self.most is not None else f"at least {self.least}"

    def judge(self, results: Results) -> Verdict:
        """Compares the results with the goal."""
        measured = Spread.of(self.ratios(results))
        if measured is None:
            return Verdict(self, None, "not measured")
        low = self.least is None or measured.median >= self.least
        high = self.most is None or measured.median <= self.most
        return Verdict(self, measured, "met" if low and high else "missed")


@dataclass(frozen=True)
class Verdict:
    """The result for a goal: "met", "missed" or "not measured"."""

    goal: Goal
    measured: Spread | None
    word: str


def time_of(case: str, floor: str, section: str, group: str) -> Ratios:
    """Returns a function that reads the ratio of one case's time to another's."""
    return lambda results: results.get(section, group, case).times(
        results.get(section, group, floor)
    )


def _tiny(case: str, least: float) -> Goal:
    text = f"tiny step: times the steps/s of {case}"
    return Goal("sizes", text, time_of(case, f"envwire {TCP}", "sizes", "16 B"), least=least)


def _large(name: str, transport: str, most: float) -> Goal:
    text = f"{name} over {transport}, in times of raw TCP"
    return Goal("sizes", text, time_of(f"envwire {transport}", "raw TCP", "sizes", name), most=most)


def _bare(name: str, method: str, most: float) -> Goal:
    ratios = time_of(f"envwire {method}", f"bare grpcio {method}", "sizes", name)
    return Goal("sizes", f"{name} over gRPC {method}, in times of a bare echo", ratios, most=most)


def _native(count: int, most: float) -> Goal:
    ratios = time_of("vectorised, envwire", "vectorised, local", "vector", f"{count} vectorised")
    text = f"vectorised CartPole, {count} environments, in times of the local one"
    return Goal("vector", text, ratios, most=most)


def _batch(count: int, peer: str, least: float) -> Goal:
    ratios = time_of(f"Gymnasium {peer}", "envwire", "vector", f"{count} real")
    text = f"CartPole, {count} environments: times the speed of {peer}VectorEnv"
    return Goal("vector", text, ratios, least=least)


def _scaling(case: str) -> Ratios:
    def ratios(results: Results) -> list[float]:
        few = [results.get("clients", "clients", case, n).seconds for n in CLIENTS[:-1]]
        many = results.get("clients", "clients", case, CLIENTS[-1]).seconds
        return [min(best) / at for *best, at in zip(*few, many, strict=False)]

    return ratios


def _fairness(case: str) -> Ratios:
    return lambda results: results.get("clients", "clients", case, CLIENTS[-1]).unfairness


#: By transport, for the sizes in their order.
_OF_BARE = {"stream": (1.4, 1.4, 1.5, 1.6, 1.5), "unary": (1.4, 1.4, 1.4, 1.5, 1.5)}
#: By number of environments.
_OF_LOCAL = {1: 1.3, 64: 1.3, 256: 1.4, 1024: 1.5}

GOALS = (
    _large("16 B", TCP, 2.5),
    _tiny("dm_env_rpc", 10),
    _tiny("OpenEnv", 9),
    _tiny("remote-gym", 15),
    _large("100 KB", TCP, 2),
    _large("1 MB", TCP, 1.5),
    _large("12 MB", TCP, 1.3),
    _large("1 MB", SHARED, 1),
    _large("12 MB", SHARED, 1),
    *(
        _bare(name, method, most)
        for method, bounds in _OF_BARE.items()
        for name, most in zip(SIZES, bounds, strict=True)
    ),
    _batch(8, "Async", 3),
    _batch(64, "Async", 7),
    _batch(64, "Sync", 1),
    *(_native(count, most) for count, most in _OF_LOCAL.items()),
    *(
        goal
        for transport in (TCP, f"{TCP}, packed", "stream")
        for goal in (
            Goal(
                "clients",
                f"64 clients over {transport}: steps/s of the best of fewer",
                _scaling(f"envwire {transport}"),
                least=0.8,
            ),
            Goal(
                "clients",
                f"64 clients over {transport}: farthest client from the mean",
                _fairness(f"envwire {transport}"),
                most=3,
            ),
        )
    ),
)
