"""Fuzzing guided by coverage, with atheris: inputs that reach new code are bred further.

    python -m tests.fuzz.guided --seconds 60

atheris is not among the packages of the tests, for it is built for few platforms; `make fuzz` installs it where it can.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: One input takes milliseconds; this is for one that hangs.
_INPUT_SECONDS = 10
_MAX_BYTES = 4096


def _hunt(name: str, seconds: int, folder: str) -> None:
    """Feeds one target, in a process of its own: libFuzzer ends the process that it runs in."""
    import atheris  # pyright: ignore[reportMissingImports]

    fuzzer: Any = atheris
    with fuzzer.instrument_imports(include=["envwire.codec", "envwire.client", "envwire.server"]):
        from tests.fuzz.fuzz import load
        from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    for number, raw in enumerate(load(name)):
        (Path(folder) / f"{number}").write_bytes(raw)
    limits = {"max_total_time": seconds, "timeout": _INPUT_SECONDS, "max_len": _MAX_BYTES}
    arguments = [f"-{option}={value}" for option, value in limits.items()]
    arguments.append(f"-artifact_prefix={folder}/broken-")

    def feed(raw: bytes) -> None:
        target(raw)

    fuzzer.Setup([sys.argv[0], *arguments, folder], feed)
    fuzzer.Fuzz()


def main() -> int:
    """Hunts each target for its share of the time; returns 1 when one broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="in all")
    seconds = parser.parse_args().seconds
    from tests.fuzz.targets import TARGETS

    broken = 0
    processes = multiprocessing.get_context("spawn")
    for name in TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            hunt = processes.Process(
                target=_hunt, args=(name, max(1, seconds // len(TARGETS)), folder)
            )
            hunt.start()
            hunt.join(seconds + 60)
            hunt.kill()
            inputs = len(list(Path(folder).iterdir()))
            found = sorted(Path(folder).glob("broken-*"))
            print(
                f"{name:26}{inputs:6} inputs of their own code path in {time.monotonic() - begun:.0f} s  "
                + (f"BROKEN by {found[0].read_bytes().hex()}" if found else "sound")
            )
            broken += bool(found) or hunt.exitcode != 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
