"""A soak test: thousands of random kills and cuts under clients that count steps, each compared with a model.

    python -m tests.faults.soak --faults 10000 --clients 8 --transport direct-tcp
    python -m tests.faults.soak --faults 1000 --transport stream --tls
    python -m tests.faults.soak --faults 1000 --transport unary --public
    python -m tests.faults.soak --faults 1000 --packed 4
    python -m tests.faults.soak --faults 3000 --window 4
    python -m tests.faults.soak --faults 1000 --transport direct-unix

Every environment counts its own steps, and its client counts them too. The two must always be equal: a
step that is lost or applied twice changes one of them. At the end nothing may be left over: no session, no
process, no open file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.faults.hungry_envs import HUNGRY
from tests.faults.scene import (
    active,
    alive,
    eventually,
    family_of,
    forkserver_of,
    open_files,
    pool_of,
    resident_bytes,
    serve,
    threads_of,
)
from tests.faults.soak_client import RESET, Column, Tally
from tests.faults.wire import Wire
from tests.secured import OPEN, Guard, public, strict

TRANSPORTS = ("unary", "stream", "direct-tcp", "direct-unix")
_LEASE, _PATIENCE = 5.0, 1.0
#: Longest time for which a process is stopped, in seconds.
_STOP = 0.05


@dataclass
class Left:
    """The resources of a server, at the start and at the end."""

    sessions: int
    processes: int
    files_of_front: int
    files_of_forkserver: int
    threads_of_front: int

    @classmethod
    def of(cls, server: Server, guard: Guard) -> Left:
        """Observes a server behind a guard, and the processes that it started."""
        family = family_of(server.pid)
        front, forkserver = open_files(server.pid), open_files(forkserver_of(server.pid))
        sessions = active(server.target, credentials=guard.credentials)
        return cls(sessions, len(family), front, forkserver, threads_of(server.pid))


class Clients:
    """Processes that play, replaced when they die.

    Args:
        target: The server.
        transport: The way to it.
        guard: What lets them in.
        count: How many.
        chance: Chooses their seeds.
        window: How many steps each has in flight.
    """

    def __init__(
        self,
        target: str,
        transport: str,
        guard: Guard,
        count: int,
        chance: random.Random,
        window: int = 1,
    ) -> None:
        memory = os.memfd_create("soak")
        os.ftruncate(memory, Tally.size(count))
        self.tally = Tally(memory, count)
        self._chance = chance
        program = [sys.executable, "-m", "tests.faults.soak_client"]
        self._nursery = subprocess.Popen(
            [*program, target, transport, str(memory), str(count), str(window)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(memory,),
            env=os.environ | guard.variables,
            text=True,
            start_new_session=True,
        )
        os.close(memory)
        self._pids = [self._start(number) for number in range(count)]

    def _start(self, number: int) -> int:
        nursery = self._nursery
        assert nursery.stdin
        assert nursery.stdout
        nursery.stdin.write(f"{number} {self._chance.getrandbits(32)}\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    def replace_dead(self) -> None:
        """Starts a client for each that is gone."""
        for number, pid in enumerate(self._pids):
            if not alive(pid):
                self._pids[number] = self._start(number)

    def kill_one(self) -> bool:
        """Kills a client, chosen at random."""
        return self.signal_one(signal.SIGKILL)

    def signal_one(self, number: int) -> bool:
        """Sends a signal to a client, chosen at random."""
        return _signal(self._chance.choice(self._pids), number)

    def stop_one(self) -> bool:
        """Stops a client, chosen at random, for a moment."""
        return _stop(self._chance.choice(self._pids), self._chance)

    def finish(self) -> None:
        """Lets all clients close their environments and end."""
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        eventually(lambda: not any(map(alive, self._pids)), 30.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._nursery.pid, signal.SIGKILL)
        self._nursery.communicate()


class Soak:
    """One run of the soak test.

    Args:
        server: The server.
        wire: What the clients reach it by.
        clients: The clients.
        chance: Chooses kinds of faults and victims.
        unix: Whether the clients are on Unix sockets, which no wire leads through.

    Attributes:
        done: Faults so far, by kind.
    """

    def __init__(
        self, server: Server, wire: Wire, clients: Clients, chance: random.Random, *, unix: bool
    ) -> None:
        self.done: Counter[str] = Counter()
        self.clients = clients
        self.chance = chance
        self._server = server
        self._faults: dict[str, tuple[int, Callable[[], bool]]] = {
            "connection reset": (84, wire.cut_one),
            "all connections reset": (1, lambda: wire.cut() > 0),
            "session killed": (12, lambda: _kill(self._session())),
            "client killed": (3, clients.kill_one),
        }
        if unix:
            self._faults |= {
                "connection reset": (60, lambda: clients.signal_one(RESET)),
                "session stopped": (15, lambda: _stop(self._session(), chance)),
                "client stopped": (8, clients.stop_one),
                "server stopped": (1, lambda: _stop(server.pid, chance)),
            }

    def commit_one(self) -> None:
        """Commits one fault, of a random kind, on a random victim."""
        kinds = list(self._faults)
        kind = self.chance.choices(kinds, [self._faults[kind][0] for kind in kinds])[0]
        if self._faults[kind][1]():
            self.done[kind] += 1
        self.clients.replace_dead()

    def _session(self) -> int | None:
        """Returns the process of a session, chosen at random; None if there is none."""
        forkserver = forkserver_of(self._server.pid)
        sessions = sorted(family_of(forkserver) - {forkserver})
        return self.chance.choice(sessions) if sessions else None


def _kill(pid: int | None) -> bool:
    return _signal(pid, signal.SIGKILL)


def _stop(pid: int | None, chance: random.Random) -> bool:
    """Stops a process for a moment."""
    if not _signal(pid, signal.SIGSTOP):
        return False
    time.sleep(chance.uniform(0.0, _STOP))
    return _signal(pid, signal.SIGCONT)


def _signal(pid: int | None, number: int) -> bool:
    """Sends a signal; returns whether there was such a process."""
    try:
        if pid is not None:
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    return pid is not None


def run(
    faults: int,
    clients: int,
    transport: str,
    seed: int,
    between: int,
    guard: Guard = OPEN,
    packed: int = 1,
    window: int = 1,
) -> dict[str, Any]:
    """Commits faults and returns what came of it.

    Args:
        faults: How many.
        clients: How many play meanwhile.
        transport: The way to the server.
        seed: Of all that is random.
        between: Mean steps between faults.
        guard: What lets clients in.
        packed: How many sessions share a process.
        window: How many steps each client has in flight.
    """
    chance = random.Random(seed)
    with Wire(seed) as wire:
        settings: dict[str, Any] = {"lease": _LEASE, "max_sessions": 4 * clients + 16}
        settings["sessions_per_process"] = packed
        with serve(**settings, queue=64, **wire.settings, **guard.settings) as server:
            _warm_up(server, guard)
            before = Left.of(server, guard)
            pool_before, bytes_before = pool_of(server.pid), resident_bytes(server.pid)
            players = Clients(wire.target, transport, guard, clients, chance, window)
            soak = Soak(server, wire, players, chance, unix=transport == "direct-unix")
            begun = time.monotonic()
            try:
                _commit(soak, faults, between)
            finally:
                players.finish()
            seconds = time.monotonic() - begun
            after = _settled(server, guard, before)
            grown = resident_bytes(server.pid) - bytes_before
            pool_grown = pool_of(server.pid) - pool_before
            processes = family_of(server.pid)
    left = sum(alive(pid) for pid in processes)
    return {
        "transport": transport,
        "TLS and token": guard.strict,
        "through the forwarder": "public" in guard.settings,
        "sessions to a process": packed,
        "steps in flight": window,
        "faults": dict(soak.done),
        "faults injected": soak.done.total(),
        "steps checked": players.tally.total(Column.STEPS),
        "episodes": players.tally.total(Column.EPISODES),
        "sessions found lost": players.tally.total(Column.LOST),
        "makes that failed": players.tally.total(Column.REFUSED),
        "steps lost or applied twice": players.tally.total(Column.WRONG),
        "requests without an answer in time": players.tally.total(Column.LATE),
        "connections": wire.connections,
        "seconds": round(seconds, 1),
        "sessions left": after.sessions - before.sessions,
        "processes left": after.processes - before.processes,
        "files left in the front": after.files_of_front - before.files_of_front,
        "files left in the forkserver": after.files_of_forkserver - before.files_of_forkserver,
        "threads left in the front": after.threads_of_front - before.threads_of_front,
        "processes after the server's end": left,
        "threads that gRPC's pool grew by": pool_grown,
        "MiB that the front has grown by": grown >> 20,
    }


def _settled(server: Server, guard: Guard, before: Left) -> Left:
    """Returns the resources once none exceeds `before`, or the time for releasing them is over.

    Each check opens a connection, whose end the next check may not see yet, so `before` may have one file too many.
    """
    looks = [before]

    def as_before() -> bool:
        looks.append(Left.of(server, guard))
        return all(
            now <= then for now, then in zip(astuple(looks[-1]), astuple(before), strict=True)
        )

    eventually(as_before, 12 * _LEASE)
    return looks[-1]


def _warm_up(server: Server, guard: Guard) -> None:
    """Makes the server open the files that it opens only once."""
    env = RemoteEnv(server.target, HUNGRY, transport="stream", credentials=guard.credentials)
    env.reset()
    env.close()
    eventually(lambda: len(family_of(server.pid)) == 2)


def _commit(soak: Soak, faults: int, between: int) -> None:
    eventually(lambda: soak.clients.tally.total(Column.STEPS) > 0, 60.0)
    shown = 0.0
    while soak.done.total() < faults and not soak.clients.tally.total(Column.WRONG):
        soak.commit_one()
        _let_play(soak, soak.chance.randint(0, 2 * between))
        if time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            _show(soak, faults)
    _show(soak, faults)
    print(file=sys.stderr)


def _let_play(soak: Soak, steps: int) -> None:
    """Waits until a number of steps were taken: faults that are faster than steps would test nothing."""
    until = soak.clients.tally.total(Column.STEPS) + steps
    deadline = time.monotonic() + _PATIENCE
    while soak.clients.tally.total(Column.STEPS) < until and time.monotonic() < deadline:
        time.sleep(0.001)


def _show(soak: Soak, faults: int) -> None:
    done = soak.done.total()
    bar = ("#" * (30 * done // faults)).ljust(30, ".")
    steps, wrong = (soak.clients.tally.total(column) for column in (Column.STEPS, Column.WRONG))
    text = f"\r[{bar}] {done}/{faults} faults, {steps} steps, {wrong} wrong"
    print(text, end="", file=sys.stderr, flush=True)


#: What must be nothing.
ZEROES = (
    "steps lost or applied twice",
    "requests without an answer in time",
    "sessions left",
    "processes left",
    "files left in the front",
    "files left in the forkserver",
    "threads left in the front",
    "processes after the server's end",
)


def verdict(result: dict[str, Any]) -> bool:
    """Returns whether nothing was lost and nothing is left over."""
    return all(result[name] <= 0 for name in ZEROES) and result["steps checked"] > 0


def main() -> int:
    """Runs the soak test of the command line; prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--transport", choices=TRANSPORTS, default="direct-tcp")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--between", type=int, default=40, help="mean steps between faults")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--tls", action="store_true", help="with client certificates and a token")
    asked.add_argument(
        "--public", action="store_true", help="with TLS and a token, as on a public address"
    )
    parser.add_argument("--packed", type=int, default=1, help="sessions to a process")
    parser.add_argument(
        "--window", type=int, default=1, help="steps that each client has in flight"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    guard = strict() if given.tls else public() if given.public else OPEN
    result = run(
        given.faults,
        given.clients,
        given.transport,
        given.seed,
        given.between,
        guard,
        given.packed,
        given.window,
    )
    if given.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:34} {value}")
    return 0 if verdict(result) else 1


if __name__ == "__main__":
    sys.exit(main())
