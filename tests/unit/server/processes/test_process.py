"""A process whose client went away while it was made leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import uvloop

from envwire.server._processes.process import Process


def files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_start_that_is_cancelled_leaves_no_file_open(
    turns: int, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    ends: list[int] = []

    async def fork(descriptors: Sequence[int], _: object) -> int:
        ends.append(os.dup(descriptors[0]))
        return 1

    async def run() -> None:
        before = files()
        starting = asyncio.ensure_future(Process.spawn(fork, 1, 1000))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        for end in ends:  # the process sees that it is over
            os.set_blocking(end, False)
            assert os.read(end, 1) == b""
            os.close(end)
        for _ in range(3):
            await asyncio.sleep(0)
        assert {each for each in files() - before if not _is_excused(each)} == set()

    running = loop()
    running.run_until_complete(run())
    running.close()


def _is_excused(descriptor: str) -> bool:
    """Tells of what may stay: the pipe of the output, read until the death is told, and the spare file of uvloop."""
    try:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
    except FileNotFoundError:
        return True  # the directory that was listed
    return name.startswith("pipe:") or name == "null"
