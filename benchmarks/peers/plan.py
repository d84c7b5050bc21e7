"""The plan: which cases are compared, section by section. A new case is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.setup import Setup

VENVS = Path(".venv-peers")
SIZES = {"16 B": 16, "28 KB": 28_224, "100 KB": 100_800, "1 MB": 1_000_000, "12 MB": 12_000_000}
BATCHES = (1, 8, 64, 256, 1024)
CLIENTS = (1, 4, 16, 64)


@dataclass(frozen=True)
class Case:
    """One row: a peer on a setup.

    Attributes:
        name: What the tables call it.
        module: The module in `cases/` with its `connect` and perhaps `serve`.
        setup: What it is measured on.
        served: Whether it has a server, which runs in another process.
        venv: The virtual environment in `VENVS` with its packages; empty for the one that runs the benchmark.
        absent: Why it is not measured here; empty if it is.
    """

    name: str
    module: str
    setup: Setup = field(default_factory=Setup)
    served: bool = True
    venv: str = ""
    absent: str = ""

    def on(self, **changes: Any) -> Case:
        """Returns the same case on a setup with these changes."""
        return replace(self, setup=replace(self.setup, **changes))


@dataclass(frozen=True)
class Group:
    """Cases whose rounds take turns.

    Attributes:
        name: What the tables call it, such as "28 KB".
        cases: The cases; the first is the floor.
        clients: How many clients step at once; the rounds of each number take turns as well.
        stretch: By how much its rounds are longer than usual, so that each of many clients gets its steps.
    """

    name: str
    cases: tuple[Case, ...]
    clients: tuple[int, ...] = (1,)
    stretch: float = 1.0


@dataclass(frozen=True)
class Section:
    """A table.

    Attributes:
        title: Its heading.
        unit: What one measured call steps: "step" of one environment, or of a "batch".
        groups: Its groups.
        note: What a reader must know to read it fairly.
    """

    title: str
    unit: str
    groups: tuple[Group, ...]
    note: str = ""


def _transports() -> tuple[str, ...]:
    try:
        from envwire.client._transports.by_name import TRANSPORTS
    except ImportError:
        return ("stream", "unary")
    # The fastest first; names that nobody ranked come before those that are known.
    known = ("direct", "stream", "unary")
    return tuple(sorted(TRANSPORTS, key=lambda name: (name in known, name)))


def _tcp() -> tuple[Case, ...]:
    return (
        Case("raw TCP", "raw_tcp", Setup(variant="reused")),
        Case("raw TCP, fresh arrays", "raw_tcp", Setup(variant="fresh")),
    )


def _envwire(*more: str) -> tuple[Case, ...]:
    variants = (*_transports(), *more)
    return tuple(Case(f"envwire {name}", "envwire", Setup(variant=name)) for name in variants)


def _grpc() -> tuple[Case, ...]:
    return tuple(
        Case(f"bare grpcio {name}", "bare_grpc", Setup(variant=name))
        for name in ("stream", "unary")
    )


def _rivals() -> tuple[Case, ...]:
    return (
        Case("dm_env_rpc", "dm_env_rpc", venv="dm_env_rpc"),
        Case("OpenEnv", "openenv", venv="openenv"),
        Case("remote-gym", "remote_gym", venv="remote_gym"),
    )


def _up_to(most: int, why: str, cases: tuple[Case, ...], name: str, count: int) -> tuple[Case, ...]:
    """Returns the cases, the named one marked as not measured if the count is more than it takes."""
    if count <= most:
        return cases
    return tuple(replace(case, absent=why) if case.name == name else case for case in cases)


def _sized(size: int) -> tuple[Case, ...]:
    cases = (*_tcp(), *_envwire("direct-shm"), *_grpc(), *_rivals())
    cases = _up_to(1_000_000, "the first step takes more than a minute", cases, "remote-gym", size)
    return tuple(case.on(size=size) for case in cases)


def sizes() -> Section:
    """One environment that costs nothing, by the size of its observation."""
    groups = [Group(name, _sized(size)) for name, size in SIZES.items()]
    return Section("A step of one environment, by size of observation", "step", tuple(groups))


def _real(count: int) -> tuple[Case, ...]:
    cases = (
        Case("Gymnasium Sync", "gymnasium_vector", Setup(variant="sync"), served=False),
        Case("Gymnasium Async", "gymnasium_vector", Setup(variant="async"), served=False),
        Case("EnvPool", "envpool", served=False, venv="envpool"),
        Case("envwire", "envwire_vector", Setup(variant="envwire")),
        Case("envwire, Gymnasium's face", "envwire_vector", Setup(variant="gymnasium")),
    )
    why = "it needs a process for each environment"
    few = _up_to(64, why, cases, "Gymnasium Async", count)
    return tuple(case.on(num_envs=count) for case in few)


def _vectorised(count: int) -> tuple[Case, ...]:
    local = Setup(variant="vector_entry_point")
    cases = (
        Case("vectorised, local", "gymnasium_vector", local, served=False),
        Case("vectorised, envwire", "envwire_vector", Setup(variant="native")),
    )
    return tuple(case.on(num_envs=count) for case in cases)


def vector() -> Section:
    """CartPole in batches: copies of the real one, and the one that numpy steps at once."""
    groups = [
        Group(f"{count} {kind}", cases(count))
        for kind, cases in (("real", _real), ("vectorised", _vectorised))
        for count in BATCHES
    ]
    note = (
        "AsyncVectorEnv has a process for each environment: with few cores it is at a disadvantage."
    )
    return Section("A step of a batch of CartPole", "batch", tuple(groups), note)


def clients() -> Section:
    """Many clients of one server, all connected all the time."""
    cases = (_tcp()[0], *_envwire("direct-tcp, packed"), *_grpc(), *_rivals())
    # Its pool has four threads more than there are cores; a further client waits for ever, without an error.
    cases = _up_to(4, "its server hangs with so many clients", cases, "remote-gym", max(CLIENTS))
    group = Group("clients", tuple(case.on(clients=max(CLIENTS)) for case in cases), CLIENTS, 3.0)
    note = "Clients are threads of four processes on the machine of the server."
    return Section("Steps of many clients of one server", "step", (group,), note)


SECTIONS: dict[str, Callable[[], Section]] = {"sizes": sizes, "vector": vector, "clients": clients}
