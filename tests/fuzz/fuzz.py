"""Fuzzing for a given time: every reader of a peer's bytes, then a running server.

    python -m tests.fuzz.fuzz --seconds 120

An input that comes to an end that none came to before is kept in the corpus, which the tests replay. What breaks
something is made as small as it can be, and kept as well.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from envwire.v1 import environment_pb2 as pb
from tests.fuzz.live import ATTACKS, Live, under_attack
from tests.fuzz.strategies import attacks
from tests.fuzz.targets import TARGETS

_UNHEALTHY = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
CORPUS = Path(__file__).parent / "corpus"
_ROUND, _BLITZ, _MAX_KEPT, _KEPT_BYTES = 50, 1000, 40, 512


def throw(
    strategy: st.SearchStrategy[bytes], at: Callable[[bytes], object], rounds: int, start: int
) -> None:
    """Sends a number of inputs; an error is reported with the smallest input that causes it."""

    @settings(
        max_examples=rounds,
        deadline=None,
        database=None,
        suppress_health_check=_UNHEALTHY,
        phases=[Phase.generate, Phase.shrink],
    )
    @seed(start)
    @given(strategy)
    def run(raw: bytes) -> None:
        at(raw)

    run()


def load(name: str) -> list[bytes]:
    """Returns the inputs that are kept for a target."""
    path = CORPUS / f"{name.replace(' ', '-')}.hex"
    return [bytes.fromhex(line) for line in path.read_text().split("\n")] if path.exists() else []


def _save(name: str, inputs: list[bytes]) -> None:
    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"{name.replace(' ', '-')}.hex"
    path.write_text("\n".join(raw.hex() for raw in inputs))


def _mutated(raw: bytes, chance: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.randint(0, 4))
        data[start:end] = chance.choice((data[start:end] * 2, b"", chance.randbytes(2)))
    return bytes(data)


class Hunt:
    """One target: its inputs, their outcomes, and its failures."""

    def __init__(self, name: str, at: Callable[[bytes], object], keep: bool) -> None:
        self.name = name
        self.thrown = 0
        self.broken = ""
        self._at = at
        self._last = b""
        self._kept = load(name) if keep else []
        self._ends = {str(at(raw)) for raw in self._kept}

    def __call__(self, raw: bytes) -> None:
        """Throws one input."""
        self.thrown += 1
        self._last = raw
        end = str(self._at(raw))
        if end not in self._ends:
            self._ends.add(end)
            if len(raw) <= _KEPT_BYTES and len(self._kept) < _MAX_KEPT:
                self._kept.append(raw)

    def go_on(self, strategy: st.SearchStrategy[bytes], start: int) -> None:
        """Throws a round of inputs, unless something is broken already."""
        if self.broken:
            return
        try:
            throw(strategy, self, _ROUND, start)
        except Exception:
            self._break()

    def blitz(self, chance: random.Random, count: int) -> None:
        """Throws inputs that were kept, each with some bytes changed: many, and not made smaller."""
        if self.broken or not self._kept:
            return
        try:
            for _ in range(count):
                self(_mutated(chance.choice(self._kept), chance))
        except Exception:
            self._break()

    def _break(self) -> None:
        self.broken = traceback.format_exc()
        self._kept.append(self._last)
        print(f"\n{self.name}: broken by {self._last.hex()}\n{self.broken}", file=sys.stderr)

    def save(self) -> None:
        """Writes the corpus."""
        _save(self.name, self._kept)

    @property
    def ends(self) -> int:
        """How many different ends inputs came to."""
        return len(self._ends)


def hunt_readers(seconds: float, start: int) -> list[Hunt]:
    """Throws at each reader in turn until the time is over."""
    hunts = [Hunt(name, target, keep=True) for name, target in TARGETS.items()]
    strategies = {name: attacks(target.message) for name, target in TARGETS.items()}
    deadline, number, chance = time.monotonic() + seconds, start, random.Random(start)
    while time.monotonic() < deadline:
        for hunt in hunts:
            hunt.go_on(strategies[hunt.name], number)
            hunt.blitz(chance, _BLITZ)
            if time.monotonic() > deadline:
                break
        number += 1
    for hunt in hunts:
        hunt.save()
    return hunts


def hunt_server(seconds: float, start: int) -> tuple[list[Hunt], Live]:
    """Throws at a running server until the time is over."""
    requests = attacks(pb.InteractRequest)
    with under_attack() as live:
        hunts = [
            Hunt(name, partial(_attack, live, attack), keep=False)
            for name, attack in ATTACKS.items()
        ]
        deadline, number = time.monotonic() + seconds, start
        while time.monotonic() < deadline:
            for hunt in hunts:
                hunt.go_on(requests, number)
            number += 1
        live.look()
        print(f"a running server: grew by {live.grown() / 2**20:.1f} MB at most, ", end="")
        print(f"{live.lost} sessions closed by what was sent, neighbours bit-equal")
    return hunts, live


def _attack(live: Live, attack: Callable[[Live, bytes], None], raw: bytes) -> None:
    attack(live, raw)
    live.look()


def main() -> int:
    """Fuzzes and prints statistics of the inputs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    given_arguments = parser.parse_args()
    start = given_arguments.seed or time.time_ns() % 2**32
    print(f"seed {start}")
    hunts = hunt_readers(given_arguments.seconds * 0.6, start)
    hunts += hunt_server(given_arguments.seconds * 0.4, start)[0]
    for hunt in hunts:
        state = "BROKEN" if hunt.broken else "sound"
        print(f"{hunt.name:22} {hunt.thrown:8} inputs {hunt.ends:6} ends  {state}")
    print(f"{sum(hunt.thrown for hunt in hunts)} inputs in all")
    return int(any(hunt.broken for hunt in hunts))


if __name__ == "__main__":
    sys.exit(main())
