"""Measures startup times: imports, the command line, and a server until it is ready: `make bench-startup`.

Imports are compared with those of the libraries that they need, in pairs, by processor time; the others are wall-clock
times. Rounds are interleaved, and each process is fresh.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

_NEEDED = "import numpy.random, grpc, google.protobuf.internal.builder"
_IMPORTS = {
    "numpy, grpc and protobuf": _NEEDED,
    "envwire.client": "import envwire.client",
    "RemoteEnv": "from envwire.client import RemoteEnv",
    "RemoteEnv and grpc": f"{_NEEDED}; from envwire.client import RemoteEnv",
    "RemoteVectorEnv": "from envwire.client import RemoteVectorEnv",
}
_COMMAND = [sys.executable, "-m", "envwire"]


def processor_seconds(statement: str) -> float:
    """Returns the processor time of a fresh process that runs a statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def help_seconds() -> float:
    """Returns how long `envwire --help` takes."""
    begun = time.perf_counter()
    subprocess.run([*_COMMAND, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def ready_seconds() -> float:
    """Returns how long a server takes from its start until it is ready."""
    begun = time.perf_counter()
    command = [*_COMMAND, "serve", "CartPole-v1", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        server.stdout.readline()
        taken = time.perf_counter() - begun
        server.terminate()
    return taken


def spread(values: list[float], unit: float = 1e3) -> str:
    """Returns the median and the middle half of some values."""
    low, middle, high = statistics.quantiles([value * unit for value in values], n=4)
    return f"{middle:8.2f}  ({low:.2f} to {high:.2f})"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    measures: dict[str, Callable[[], float]] = {
        "envwire --help": help_seconds,
        "envwire serve: ready": ready_seconds,
    }
    names = [*_IMPORTS, *measures]
    for statement in _IMPORTS.values():
        processor_seconds(statement)  # compiles what is not compiled yet
    seen: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, statement in _IMPORTS.items():
            seen[name].append(processor_seconds(statement))
        for name, measure in measures.items():
            seen[name].append(measure())
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f}; milliseconds: median (middle half)")
    for name in names:
        print(f"{name:28}{spread(seen[name])}")
    needed = seen["numpy, grpc and protobuf"]
    print("\ntimes the imports of numpy, grpc and protobuf:")
    for name in list(_IMPORTS)[1:]:
        ratios = [own / base for own, base in zip(seen[name], needed, strict=True)]
        print(f"{name:28}{spread(ratios, 1)}")


if __name__ == "__main__":
    main()
