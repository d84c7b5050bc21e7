"""The clients of the soak test: forked on request from a process that has imported all modules and opened no files.

Each plays episodes until it is told to leave, and compares every observation with a count of its own. It keeps its
numbers in memory that outlives it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import signal
import sys
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import envwire.client._transports.grpc.grpc_transports
import envwire.client._transports.grpc.unary
from envwire.client import RemoteEnv, RemoteError, RequestTimeoutError, SessionLostError
from tests.faults.hungry_envs import HUNGRY
from tests.faults.scene import channel_of

_EPISODE = 500
#: Signal on which a client resets its direct channel, wherever it is in a step.
RESET = signal.SIGUSR1
assert envwire.client._transports.grpc.unary  # imported once, for all


class Column(IntEnum):
    """The counts of a client."""

    STEPS = 0
    EPISODES = 1
    LOST = 2
    REFUSED = 3
    WRONG = 4
    LATE = 5


class Tally:
    """The numbers of all clients.

    Args:
        descriptor: A file of memory of `Tally.size(clients)` bytes.
        clients: How many there are.
    """

    def __init__(self, descriptor: int, clients: int) -> None:
        self._numbers = memoryview(mmap.mmap(descriptor, self.size(clients))).cast("Q")

    @staticmethod
    def size(clients: int) -> int:
        """Returns the size in bytes of a number of rows."""
        return clients * len(Column) * 8

    def add(self, client: int, column: Column) -> None:
        """Counts one; each row has one writer."""
        self._numbers[client * len(Column) + column] += 1

    def total(self, column: Column) -> int:
        """Returns the sum over all clients."""
        return sum(self._numbers[column :: len(Column)].tolist())


class Player:
    """One client.

    Args:
        target: The server.
        transport: The way to it.
        tally: Where it counts.
        number: Its row there.
        seed: Of its episodes.
        window: How many steps it has in flight.
    """

    def __init__(
        self, target: str, transport: str, tally: Tally, number: int, seed: int, window: int = 1
    ) -> None:
        self._target = target
        self._transport = transport
        self._tally = tally
        self._number = number
        self._random = random.Random(seed)
        self._window = window
        self._env: RemoteEnv | None = None

    def play(self) -> None:
        """Plays until SIGTERM, then closes its environment."""
        signal.signal(signal.SIGTERM, _leave)
        signal.signal(RESET, self._reset)
        try:
            while True:
                self._play_on()
        except SystemExit:
            if self._env is not None:
                self._env.close()

    def _play_on(self) -> None:
        try:
            if self._env is None:
                self._env = RemoteEnv(self._target, HUNGRY, transport=self._transport, timeout=20.0)
            self._play_episode(self._env)
        except SessionLostError:
            self._count(Column.LOST)
        except RequestTimeoutError as error:
            self._complain(f"a request took too long: {error}", Column.LATE)
        except RemoteError as error:
            if self._env is not None and "lease" in str(error):
                self._complain(f"a session was given up: {error}", Column.LATE)
            self._count(Column.REFUSED)  # a Make is never repeated

    def _play_episode(self, env: RemoteEnv) -> None:
        observation, info = env.reset()
        self._count(Column.EPISODES)
        length = self._random.randrange(1, _EPISODE)
        results = self._results(env)
        for expected in range(length):
            if observation[0] != expected or info["steps"] != expected:
                self._complain(f"step {expected} here is step {info['steps']} there")
            observation, _, _, _, info = next(results)
            self._count(Column.STEPS)

    def _results(self, env: RemoteEnv) -> Iterator[Any]:
        """Yields the results of steps, of which as many are in flight as the window holds."""
        if self._window == 1:
            while True:
                yield env.step(0)
        running = deque(env.step_ahead([0]) for _ in range(self._window))
        while True:
            running.append(env.step_ahead([0]))
            yield from running.popleft()

    def _reset(self, _number: int, _frame: object) -> None:
        if self._env is not None:
            with contextlib.suppress(AttributeError):  # there is no channel now
                channel_of(self._env).shut_down()

    def _count(self, column: Column) -> None:
        self._tally.add(self._number, column)

    def _complain(self, text: str, column: Column = Column.WRONG) -> None:
        self._count(column)
        print(f"\nclient {self._number}: {text}", file=sys.stderr, flush=True)


def _leave(_number: int, _frame: object) -> None:
    sys.exit(0)


def main() -> None:
    """Forks a player for each line on standard input, "number seed", and answers with its process."""
    target, transport, descriptor, clients, window = sys.argv[1:]
    tally = Tally(int(descriptor), int(clients))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(RESET, signal.SIG_IGN)  # of a player that is about to begin
    for line in iter(sys.stdin.readline, ""):
        number, seed = map(int, line.split())
        pid = os.fork()
        if pid == 0:
            try:
                Player(target, transport, tally, number, seed, int(window)).play()
            finally:
                os._exit(0)
        print(pid, flush=True)
    os.killpg(0, signal.SIGKILL)  # whoever asked is gone; so are we all


if __name__ == "__main__":
    main()
