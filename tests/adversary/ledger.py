"""The resources of a server, observed from outside: memory, descriptors, processes, slots."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envwire.server._worker.confining.control_groups import ControlGroups
from tests.adversary.client import RefusedError
from tests.faults.scene import alive, files_of, parents, processor_seconds, resident_bytes

if TYPE_CHECKING:
    from tests.adversary.servers import Target

#: What the front may keep of an attack.
KEPT_BYTES = 50 * 2**20
#: What the front opens once, when it is first needed, and keeps.
SPARE = {"descriptors": 4, "processes": 0, "sessions": 0}
#: Time that a server has to get over an attack. It took 0.1 to 2 s; at low priority, where other programs want all
#: processors, a call alone took 15 s.
SETTLE_SECONDS = 60.0
#: A variable of every process of a server; it finds those that left the tree as well.
MARK = "ENVWIRE_ADVERSARY"


def eventually(condition: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> bool:
    """Waits for something that other processes bring about."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def has_control_groups() -> bool:
    """Returns whether a server that this process starts can use control groups of version 2."""
    groups = ControlGroups.here()
    group = groups.new()
    groups.close(1.0)
    return group is not None


def _marked(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or it hides its memory
        return False


def processes_of(front: int, mark: str) -> set[int]:
    """Returns the living processes of a server: its descendants, and all that carry its mark wherever they went."""
    living = parents()
    sign = f"{MARK}={mark}".encode()
    found = {pid for pid in living if pid == front or _marked(pid, sign)}
    size = -1
    while len(found) != size:
        size = len(found)
        found |= {pid for pid, parent in living.items() if parent in found}
    return found


def memory_of(pid: int) -> int:
    """Returns the bytes of memory of a process: its proportional share, or if not readable its resident memory."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return resident_bytes(pid)


def peak_of(pid: int) -> int:
    """Returns the most bytes of memory that a process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def descriptors_of(pid: int) -> int:
    """Returns how many descriptors a process has open; -1 when it does not let anybody look.

    The event loop's spare one does not count: it is opened with the first session, and stays.
    """
    try:
        return sum(name != os.devnull for name in files_of(pid))
    except PermissionError:
        return -1


@dataclass(frozen=True)
class Ledger:
    """The resources of a server at one moment.

    Attributes:
        memory: Bytes of the front.
        descriptors: Open in the front.
        processes: How many processes the server has, the front included.
        sessions: Slots taken.
    """

    memory: int
    descriptors: int
    processes: int
    sessions: int

    @classmethod
    def of(cls, target: Target) -> Ledger:
        """Looks at a server."""
        with target.attacker(token=target.token) as visitor:
            sessions = visitor.info().active_sessions
        return cls(
            memory_of(target.pid), descriptors_of(target.pid), len(target.processes()), sessions
        )

    def kept_since(self, before: Ledger, kept_bytes: int = KEPT_BYTES) -> str:
        """Returns the resources that are used in addition to before; empty if there are none."""
        kept = [
            f"{name}: {was} before, {now} after"
            for name, spare in SPARE.items()
            if (now := getattr(self, name)) > (was := getattr(before, name)) + spare
        ]
        if self.memory > before.memory + kept_bytes:
            kept.append(f"memory of the front: {before.memory >> 20} MiB, {self.memory >> 20} MiB")
        return "; ".join(kept)


@contextmanager
def peak_within(target: Target, more_bytes: int) -> Iterator[None]:
    """Checks that the front never had much more memory than before an attack."""
    before = peak_of(target.pid)
    yield
    grown = peak_of(target.pid) - before
    assert grown <= more_bytes, f"the front grew by {grown >> 20} MiB, not {more_bytes >> 20}"


@contextmanager
def memory_given_back(pid: int) -> Iterator[None]:
    """Checks that a front has as much memory after all attacks as before them, or is gone."""
    before = memory_of(pid)
    yield
    given_back = eventually(lambda: not alive(pid) or memory_of(pid) <= before + KEPT_BYTES)
    assert given_back, f"memory of the front: {before >> 20} MiB, {memory_of(pid) >> 20} MiB"


@contextmanager
def processor_time_within(target: Target, seconds: float) -> Iterator[None]:
    """Checks that the front used no more processor time for an attack."""
    before = processor_seconds(target.pid)
    yield
    used = processor_seconds(target.pid) - before
    assert used <= seconds, f"the front was busy for {used:.1f} s, not {seconds:g}"


@contextmanager
def balanced(target: Target, seconds: float = SETTLE_SECONDS) -> Iterator[Ledger]:
    """Checks that a server uses no more after an attack than before it, once it had time to get over it."""
    before = Ledger.of(target)
    yield before
    kept = ""

    def is_over() -> bool:
        nonlocal kept
        try:
            kept = Ledger.of(target).kept_since(before)
        except RefusedError as error:  # gRPC cancels calls of others while it works through a flood
            kept = str(error)
        return not kept

    assert eventually(is_over, seconds), kept
