"""Measures sessions over a slow path, beside what was possible then and what is at all: steps, Makes, a dead path.

The wire is that of `benchmarks.wide_wire`. Times are medians of rounds in which the cases take turns; the wire's own
noise and the machine's are in them. "Then" is 2026-11-26, over 50 ms. `benchmarks.wide_frames` measures pictures.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.wide_area_envs import ROBOT
from benchmarks.wide_wire import PLAIN, SECURE, Wire, round_trip
from envwire.client import RemoteEnv
from envwire.client._transports import targets
from tests.faults.network import Weather
from tests.faults.scene import channel_of

CHUNK = 8
STEP_SECONDS, INFERENCE_SECONDS = 0.02, 0.04
LIVENESS = 5.0
#: After which result of a chunk the next is inferred, so that it arrives before the last step is over.
_INFER_AFTER = 2


def infer() -> list[int]:
    """Takes the time of a policy; returns the actions of a chunk."""
    time.sleep(INFERENCE_SECONDS)
    return [0] * CHUNK


def single_steps(env: RemoteEnv, chunks: int) -> None:
    """Takes each step after the answer to the one before."""
    for _ in range(chunks * CHUNK):
        env.step(0)


def eight_in_flight(env: RemoteEnv, chunks: int) -> None:
    """Sends a step as soon as one is answered, of eight that are in flight."""
    running = deque(env.step_ahead([0]) for _ in range(CHUNK))
    for _ in range((chunks - 1) * CHUNK):
        list(running.popleft())
        running.append(env.step_ahead([0]))
    for last in running:
        list(last)


def chunk_after_chunk(env: RemoteEnv, chunks: int) -> None:
    """Infers each chunk after the answers to the one before."""
    for _ in range(chunks):
        env.step_many(infer())


def chunks_ahead(env: RemoteEnv, chunks: int, ages: list[float] | None = None) -> None:
    """Infers the next chunk while one runs, from its second observation; notes the age of each first one."""
    running = env.step_ahead(infer())
    for _ in range(chunks - 1):
        for number in range(_INFER_AFTER):
            next(running)
            if ages is not None and not number:
                ages.append(running.age)
        following = env.step_ahead(infer())
        list(running)
        running = following
    list(running)


class Case(NamedTuple):
    """One way to take steps.

    Attributes:
        play: Takes the steps of a number of chunks.
        then: Milliseconds of a chunk then.
        ideal: Returns the seconds of a chunk that it cannot go below, by those of a round trip.
    """

    play: Callable[[RemoteEnv, int], None]
    then: int
    ideal: Callable[[float], float]


CASES = (
    Case(single_steps, 571, lambda trip: CHUNK * (STEP_SECONDS + trip)),
    Case(eight_in_flight, 571, lambda _: CHUNK * STEP_SECONDS),
    Case(chunk_after_chunk, 254, lambda trip: CHUNK * STEP_SECONDS + trip + INFERENCE_SECONDS),
    Case(chunks_ahead, 214, lambda _: CHUNK * STEP_SECONDS),
)


def measure_steps(env: RemoteEnv, trip: float, options: argparse.Namespace) -> None:
    """Prints a line for each case."""
    taken: dict[str, list[float]] = {case.play.__name__: [] for case in CASES}
    ages: list[float] = []
    for _ in range(options.rounds):
        for case in CASES:
            begun = time.perf_counter()
            case.play(env, options.chunks)
            taken[case.play.__name__].append((time.perf_counter() - begun) / options.chunks)
        chunks_ahead(env, options.chunks, ages)
    for case in CASES:
        seconds, ideal = statistics.median(taken[case.play.__name__]), case.ideal(trip)
        print(
            f"{case.play.__name__:18} {seconds * 1000:6.0f} ms a chunk (then {case.then}, ideal {ideal * 1000:.0f}), "
            f"{CHUNK / seconds:5.1f} steps/s (ideal {CHUNK / ideal:.1f})",
            flush=True,
        )
    age = statistics.median(ages) * 1000
    print(
        f"the first observation of a chunk is {age:.0f} ms old (then 168, ideal {trip * 500:.0f})"
    )


def measure_makes(wire: Wire, trip: float, options: argparse.Namespace) -> None:
    """Prints the round trips of a program's first Make and of further ones, in the clear and with TLS and a token."""
    ways: dict[str, tuple[str, dict[str, Any], float, float]] = {
        "in the clear": (wire.target, {"direct_port": PLAIN}, 6.2, 2),
        "with TLS and a token": (
            wire.secure_target,
            {"direct_port": SECURE, "credentials": wire.credentials},
            8.3,
            3,
        ),
    }
    for way, (target, named, then, ideal) in ways.items():
        told = {name: value for name, value in named.items() if name != "direct_port"}
        kinds = {"the first, direct_port= named": (named, True), "the first": (told, True)}
        kinds |= {"a further one": (told, False)}
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(options.rounds):
            for kind, (given, forget) in kinds.items():
                if forget:
                    targets.forget_port(target)
                begun = time.perf_counter()
                env = RemoteEnv(target, ROBOT, transport="direct-tcp", **given)
                taken[kind].append(time.perf_counter() - begun)
                env.close()
        for kind, seconds in taken.items():
            trips = statistics.median(seconds) / trip
            print(
                f"Make {way}, {kind}: {trips:.1f} round trips (then {then}, ideal {ideal})",
                flush=True,
            )


def measure_dead_path(wire: Wire, weather: Weather) -> None:
    """Prints after how long a step goes on whose router has forgotten the connection, as if the address changed."""
    with RemoteEnv(wire.target, ROBOT, transport="direct-tcp", liveness=LIVENESS) as env:
        env.reset()
        env.step(0)
        port = channel_of(env).connection.getsockname()[1]
        wire.set(replace(weather, forgotten=frozenset({port})))
        begun = time.perf_counter()
        env.step(0)
        print(
            f"liveness={LIVENESS:g}: a dead path costs a step {time.perf_counter() - begun:.1f} s (then 30.6)"
        )
    wire.set(weather)


@contextmanager
def slow(wire: Wire, options: argparse.Namespace) -> Iterator[tuple[Weather, float]]:
    """Delays all packets; yields the weather, and the seconds of a round trip, as measured."""
    weather = Weather(delay=options.round_trip / 2)
    wire.set(weather)
    try:
        yield weather, statistics.median(round_trip() for _ in range(5))
    finally:
        wire.set(Weather())


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round-trip", type=float, default=0.05, help="in seconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--chunks", type=int, default=20, help="in a round, with one inference and round trip more"
    )
    options = parser.parse_args()
    with closing(Wire()) as wire, slow(wire, options) as (weather, trip):
        print(f"a round trip takes {trip * 1000:.1f} ms", flush=True)
        with RemoteEnv(wire.target, ROBOT, transport="direct-tcp") as env:
            env.reset()
            measure_steps(env, trip, options)
        measure_makes(wire, trip, options)
        measure_dead_path(wire, weather)


if __name__ == "__main__":
    main()
