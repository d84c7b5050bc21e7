"""A soak test over a bad network: losses, duplicates, outages, resets and kills under clients with steps in flight.

    python -m tests.faults.soak_network --faults 3000 --outages 4

It needs root. Each client compares every observation with its own count. At the end, the server's recording of each
session is compared with what an undisturbed one holds: each step once, in order, and all that the client received.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from envwire.client import RemoteEnv, RemoteError, SessionLostError
from envwire.server import Server
from envwire.wire.recordings import EntryReader
from tests.faults.hungry_envs import HUNGRY
from tests.faults.network import THERE, Network, Weather, why_not
from tests.faults.scene import channel_of, family_of, forkserver_of, serve

_LEASE = 120.0
_EPISODE = 300
_DIRECT_PORT = 7005


class Player(threading.Thread):
    """A client with steps in flight, which counts.

    Args:
        target: The server.
        window: How many steps are in flight.

    Attributes:
        received: Steps received of each recorded session's last episode, by the recording's name.
        steps: Steps received.
        lost: Sessions that were lost.
        wrong: What must not be.
    """

    def __init__(self, target: str, window: int) -> None:
        super().__init__(daemon=True)
        self.received: dict[str, list[int]] = {}
        self.steps = self.lost = 0
        self.wrong: list[str] = []
        self.over = threading.Event()
        self._target, self._window = target, window
        self.env: RemoteEnv | None = None

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self._play()
            except SessionLostError:
                self.lost += 1
            except RemoteError as error:
                self.wrong.append(str(error))
            finally:
                if self.env is not None:
                    with suppress(RemoteError):
                        self.env.close()

    def _play(self) -> None:
        env = self.env = RemoteEnv(
            self._target, HUNGRY, transport="direct-tcp", lease=_LEASE, timeout=_LEASE
        )
        episodes = self.received[str(env.recorded_as)] = []
        while not self.over.is_set():
            env.reset()
            episodes.append(0)
            running = deque(env.step_ahead([0]) for _ in range(self._window))
            for expected in range(1, _EPISODE):
                if self.over.is_set():
                    break
                observation, _, _, _, info = next(running.popleft())
                if not observation[0] == info["steps"] == expected:
                    self.wrong.append(f"step {expected} here is step {info['steps']} there")
                running.append(env.step_ahead([0]))
                self.steps += 1
                episodes[-1] += 1
            for last in running:
                episodes[-1] += len(list(last))

    def reset_channel(self) -> None:
        """Breaks the connection, if there is one."""
        with suppress(AttributeError):
            channel_of(self.env).shut_down()  # type: ignore[arg-type]


def recorded(path: Path) -> list[int]:
    """Returns the number of steps of each episode in a recording.

    Raises:
        ValueError: A step is missing, doubled, out of order, or not answered as in an undisturbed session.
    """
    episodes: list[int] = []
    with path.open("rb") as file:
        _, *entries = EntryReader(file)
    for entry in entries:
        if entry.WhichOneof("entry") != "response":
            continue
        response = entry.response
        if response.HasField("reset"):
            episodes.append(0)
        elif response.HasField("step") and not response.step.not_taken:
            episodes[-1] += 1
            [told] = response.step.info.entries
            count = told.value.int_value
            if count != episodes[-1]:
                raise ValueError(f"{path.name}: step {count} after {episodes[-1] - 1}")
    return episodes


def differences(folder: Path, player: Player) -> list[str]:
    """Returns how the recordings of a client's sessions differ from what it received."""
    found: list[str] = []
    for name, received in player.received.items():
        try:
            taken = recorded(folder / f"{name}.envrec")
        except ValueError as error:
            found.append(str(error))
            continue
        # Of a session that was lost, the last steps may be taken and never received.
        if taken[: len(received) - 1] != received[:-1] or (received and taken[-1] < received[-1]):
            found.append(f"{name}: recorded {taken[-3:]}, received {received[-3:]}")
    return found


class Faults:
    """What is done to the network, the sessions and the connections."""

    def __init__(
        self, network: Network, server: Server, players: list[Player], chance: random.Random
    ) -> None:
        self._network, self._server, self._players, self._chance = network, server, players, chance
        self.done: Counter[str] = Counter()
        self._kinds: dict[str, tuple[int, Callable[[], None]]] = {
            "connection reset": (60, lambda: chance.choice(players).reset_channel()),
            "packets lost": (14, lambda: self._weather(Weather(loss=0.4), 0.1, 0.4)),
            "packets twice, in disorder": (
                14,
                lambda: self._weather(Weather(delay=0.005, disorder=0.4, twice=0.4), 0.1, 0.4),
            ),
            "short outage": (8, lambda: self._weather(Weather(loss=1.0), 0.1, 1.0)),
            "session killed": (4, self._kill),
        }

    def commit_one(self) -> None:
        """Commits one fault, and lets the clients play for a moment."""
        kinds = list(self._kinds)
        kind = self._chance.choices(kinds, [self._kinds[each][0] for each in kinds])[0]
        self._kinds[kind][1]()
        self.done[kind] += 1
        time.sleep(self._chance.uniform(0.0, 0.1))

    def outage(self) -> None:
        """Cuts the network for 30 s, and waits until every client has received a step again."""
        self._weather(Weather(loss=1.0), 30.0, 30.0)
        self.done["outage of 30 s"] += 1
        for player in self._players:
            before = player.steps
            deadline = time.monotonic() + 60.0
            while player.steps == before and time.monotonic() < deadline:
                time.sleep(0.05)

    def _weather(self, weather: Weather, least: float, most: float) -> None:
        self._network.weather = weather
        time.sleep(self._chance.uniform(least, most))
        self._network.mend()

    def _kill(self) -> None:
        forkserver = forkserver_of(self._server.pid)
        if sessions := sorted(family_of(forkserver) - {forkserver}):
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(sessions), signal.SIGKILL)


def run(faults: int, outages: int, clients: int, window: int, seed: int) -> bool:
    """Commits faults; prints what came of it, and returns whether nothing was lost, doubled or wrong."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Network(seed) as network:
        server = serve(
            host=THERE,
            insecure=True,
            direct_port=_DIRECT_PORT,
            record=folder,
            max_sessions=100,
            step_timeout=60.0,
        )
        network.over_there(server.start)
        players = [Player(server.target, window) for _ in range(clients)]
        for player in players:
            player.start()
        committed = Faults(network, server, players, chance)
        begun = time.monotonic()
        for number in range(faults):
            if outages and number % (faults // outages) == faults // outages // 2:
                committed.outage()
            committed.commit_one()
            if number % 100 == 0:
                print(f"{number} faults", file=sys.stderr, flush=True)
        for player in players:
            player.over.set()
        for player in players:
            player.join(_LEASE)
        seconds = time.monotonic() - begun
        server.stop()
        wrong = [text for player in players for text in player.wrong]
        differ = [text for player in players for text in differences(Path(folder), player)]
        lost, taken = network.lost, sum(player.steps for player in players)
    for name, value in {
        "faults": dict(committed.done),
        "faults injected": committed.done.total(),
        "steps in flight": window,
        "steps checked": taken,
        "sessions found lost": sum(player.lost for player in players),
        "recordings compared": sum(len(player.received) for player in players),
        "packets lost": lost,
        "seconds": round(seconds, 1),
        "steps lost or applied twice, and other errors": len(wrong),
        "recordings that differ": len(differ),
    }.items():
        print(f"{name:46} {value}")
    for text in (*wrong, *differ):
        print(text)
    return not wrong and not differ and taken > 0


def main() -> int:
    """Runs the soak test of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--outages", type=int, default=1, help="how many of 30 s there are as well")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--window", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if reason := why_not():
        print(reason)
        return 1
    good = run(given.faults, given.outages, given.clients, given.window, given.seed)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
