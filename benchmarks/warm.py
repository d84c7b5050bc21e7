"""Compares Makes with and without an environment made ahead: `make bench-warm`.

Both go to one server over loopback, in turns. One id has warm environments, the other has none. Between two Makes the
pool has time to fill.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.startup import spread
from envwire.client import RemoteEnv
from envwire.server import Server

WARM, COLD = "CartPole-v1", "Acrobot-v1"
_PAUSE_SECONDS = 0.4


def make_seconds(target: str, env_id: str) -> float:
    """Returns how long the Make of an environment takes, until the proxy is constructed."""
    time.sleep(_PAUSE_SECONDS)
    begun = time.perf_counter()
    env = RemoteEnv(target, env_id)
    taken = time.perf_counter() - begun
    env.close()
    return taken


def main() -> None:
    """Prints the median and the quartiles of both, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with Server([WARM, COLD], warm=[f"{WARM}=4"]) as server:
        for env_id in (
            WARM,
            COLD,
        ):  # the first ones open connections, and import what is imported late
            make_seconds(server.target, env_id)
        pairs = [
            [make_seconds(server.target, each) for each in (WARM, COLD)] for _ in range(rounds)
        ]
    warm, cold = map(list, zip(*pairs, strict=True))
    print("milliseconds for a Make, median (and middle half)")
    print("warm", spread(warm))
    print("cold", spread(cold))


if __name__ == "__main__":
    main()
