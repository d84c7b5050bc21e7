"""Measures pictures over a slow path, compressed and not, in turns: steps a second.

A wire between this machine and a network namespace carries packets late and at a rate, so that both kernels' TCP sees a
wide-area link. It needs root, and Linux with TUN devices.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.wide_area_envs import PICTURES
from envwire.client import RemoteEnv
from envwire.server import Server
from tests.faults.network import THERE, Network, Weather, why_not

SHAPES = {"84x84x4": (84, 84, 4), "256x256x3": (256, 256, 3), "480x640x3": (480, 640, 3)}
COMPRESSIONS = ("off", "auto")
_DIRECT_PORT = 7003


@contextmanager
def there(network: Network) -> Generator[str]:
    """Yields the address of a server at the other end of the wire."""
    server = Server(
        ["wide/*"],
        imports=["benchmarks.wide_area_envs"],
        sys_path=(str(Path(__file__).parents[1]),),
        host=THERE,
        direct_port=_DIRECT_PORT,
        insecure=True,
        allow_kwargs=["shape", "noisy"],
    )
    network.over_there(server.start)
    try:
        yield server.target
    finally:
        server.stop()


def seconds_of_steps(env: RemoteEnv, steps: int) -> float:
    """Returns how long steps take."""
    begun = time.perf_counter()
    for _ in range(steps):
        env.step(0)
    return (time.perf_counter() - begun) / steps


def carry(orders: Connection) -> None:
    """Carries the packets, in a process of its own; tells the server's address, and takes orders for the weather."""
    with Network() as network, there(network) as target:
        orders.send(target)
        while (weather := orders.recv()) is not None:
            network.weather = weather
            orders.send(None)


class Wire:
    """The process that carries the packets.

    Attributes:
        target: Address of the server at the other end.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._process = context.Process(target=carry, args=(theirs,))
        self._process.start()
        self.target: str = self._orders.recv()

    def set(self, weather: Weather) -> None:
        """Changes what happens to packets."""
        self._orders.send(weather)
        self._orders.recv()

    def close(self) -> None:
        """Takes all down."""
        self._orders.send(None)
        self._process.join()


def measure(wire: Wire, options: argparse.Namespace, mbits: float) -> None:
    """Prints a line for each kind of picture."""
    delay, rate = options.round_trip / 2, mbits * 1e6 / 8
    for name in options.shapes:
        shape = SHAPES[name]
        for noisy in (False, True):
            wire.set(Weather())
            with ExitStack() as open_envs:
                envs = {
                    compression: open_envs.enter_context(
                        RemoteEnv(
                            wire.target,
                            PICTURES,
                            transport="direct-tcp",
                            compression=compression,
                            shape=shape,
                            noisy=noisy,
                        )
                    )
                    for compression in COMPRESSIONS
                }
                for env in envs.values():
                    env.reset(seed=1)
                wire.set(Weather(delay=delay, rate=rate))
                for env in envs.values():
                    seconds_of_steps(env, options.warm_up)
                taken: dict[str, list[float]] = {compression: [] for compression in envs}
                for _ in range(options.rounds):
                    for compression, env in envs.items():
                        taken[compression].append(seconds_of_steps(env, options.steps))
                wire.set(Weather())
            plain, chosen = (statistics.median(taken[one]) for one in COMPRESSIONS)
            ideal = options.round_trip + shape[0] * shape[1] * shape[2] / rate
            kind = "noisy" if noisy else "rendered"
            print(
                f"{mbits:6g} Mbit/s {name:10} {kind:8} as they are {1 / plain:5.1f} steps/s (ideal {1 / ideal:.1f}), "
                f"compressed {1 / chosen:5.1f}",
                flush=True,
            )


def main() -> None:
    """Prints a line for each rate and kind of picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round-trip", type=float, default=0.05, help="in seconds")
    parser.add_argument("--mbits", type=float, nargs="+", default=[20, 50, 200])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="in a round")
    parser.add_argument("--warm-up", type=int, default=10, help="steps that are not measured")
    options = parser.parse_args()
    if reason := why_not():
        raise SystemExit(reason)
    with closing(Wire()) as wire:
        for mbits in options.mbits:
            measure(wire, options, mbits)


if __name__ == "__main__":
    main()
