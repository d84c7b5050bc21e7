"""Ended sessions leave nothing in the front except the remembered reasons of their ends."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import Counter
from itertools import pairwise

import pytest
import uvloop

from envwire.server._front import observed_status
from envwire.server._front.front import Front
from envwire.server._front.sessions import table
from envwire.server._processes.process import GRACE_SECONDS, Process
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

REMEMBERED = 5
WARM_UP, TIMES, ROUNDS = 15, 20, 2
#: Of one kind there may be more, but not one for every other session of each round: what is loaded or cached when it is
#: first needed, which on a busy machine may be late, comes once.
SPARE = TIMES // 2
#: A process that takes longer to leave than its grace is killed; until then it is held.
SECONDS = 4 * GRACE_SECONDS


async def make_and_close(front: Front) -> None:
    """Makes a session, resets it and closes it, and waits until its process is gone."""
    request = pb.MakeRequest(env_id="CartPole-v1", request_id=os.urandom(16))
    made = (await exchange(front, pb.InteractRequest(make=request))).make
    owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    reset = pb.ResetRequest(header=owner, sequence=1)
    assert (await exchange(front, pb.InteractRequest(reset=reset))).HasField("reset")
    close = pb.CloseRequest(header=owner, sequence=2)
    assert (await exchange(front, pb.InteractRequest(close=close))).HasField("close")


async def exchange(front: Front, request: pb.InteractRequest) -> pb.InteractResponse:
    return pb.InteractResponse.FromString(await front.exchange(request.SerializeToString()))


async def in_use(shared: int) -> Counter[str]:
    """Returns how many objects of each kind there are, and descriptors, once nothing holds a process any more.

    Args:
        shared: How many ended processes are held: one that sessions shared, until the next session is made.
    """
    deadline = time.monotonic() + SECONDS
    while (
        sum(type(each) is Process for each in gc.get_objects()) > shared
        and time.monotonic() < deadline
    ):
        await asyncio.sleep(0.2)
        gc.collect()
    found = Counter(f"{type(each).__module__}.{type(each).__name__}" for each in gc.get_objects())
    found["descriptors"] = len(os.listdir("/proc/self/fd"))
    return found


@pytest.mark.slow  # counts objects after hundreds of Makes
@pytest.mark.parametrize("sessions_per_process", [1, 4])
def test_sessions_leave_no_objects(
    sessions_per_process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_REMEMBERED", REMEMBERED)
    for kept in ("KEPT", "_IN_DETAIL"):
        monkeypatch.setattr(observed_status, kept, REMEMBERED)

    shared = int(sessions_per_process > 1)
    gc.collect()
    gc.freeze()  # what there is already need not be looked through at each count

    async def run() -> dict[str, int]:
        front = await Front.start(
            ServerConfig(("CartPole-v1",), sessions_per_process=sessions_per_process)
        )
        try:
            for _ in range(WARM_UP):
                await make_and_close(front)
            found = [await in_use(shared)]
            for _ in range(ROUNDS):
                for _ in range(TIMES):
                    await make_and_close(front)
                found.append(await in_use(shared))
        finally:
            await front.stop()
        more = [after - before for before, after in pairwise(found)]
        in_each = more[0] & more[1]
        return {kind: count for kind, count in in_each.items() if count > SPARE}

    assert uvloop.run(run()) == {}  # asyncio's own loop keeps timers that were cancelled
