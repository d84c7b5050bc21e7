"""Makes that wait for a free slot of a server: each gets its turn, and cancelled ones keep no slot."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from envwire.client import CapacityError, RemoteEnv, RequestTimeoutError, ServerUnavailableError
from tests.faults.hungry_envs import HUNGRY
from tests.faults.scene import active, eventually, serve


def make(target: str) -> RemoteEnv:
    return RemoteEnv(target, HUNGRY)


def test_clients_take_turns() -> None:
    turns = 12
    with serve(max_sessions=2, queue=turns) as server, ThreadPoolExecutor(turns) as pool:
        most, lock = [0], threading.Lock()

        def play(_: int) -> int:
            env = make(server.target)
            env.reset()
            with lock:
                most[0] = max(most[0], active(server.target))
            steps: int = env.step(0)[4]["steps"]
            env.close()
            return steps

        assert list(pool.map(play, range(turns), timeout=60.0)) == [1] * turns
        assert most[0] <= 2
        assert eventually(lambda: active(server.target) == 0)


def make_in_the_end(target: str) -> RemoteEnv:
    """Makes an environment, and tries again while the queue is full."""
    while True:
        try:
            return make(target)
        except CapacityError:
            continue


def test_refusals_and_the_end_of_a_server_with_a_queue() -> None:
    with (
        serve(max_sessions=1, queue=1, queue_timeout=30.0, drain_timeout=20.0) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        holder = make(server.target)
        holder.reset()
        waiting: Future[RemoteEnv] = pool.submit(make_in_the_end, server.target)
        assert eventually(lambda: _full(server.target))
        process = vars(server)["_process"]
        process.terminate()
        with pytest.raises(ServerUnavailableError) as refused:
            waiting.result(10.0)
        assert refused.value.reason == "DRAINING"
        assert holder.step(0)[4] == {"steps": 1}
        holder.close()
        assert process.wait(60.0) == 0


def _full(target: str) -> bool:
    """Returns whether the queue is full; the probe leaves the queue at once."""
    try:
        RemoteEnv(target, HUNGRY, timeout=0.1).close()
    except RequestTimeoutError:
        return False
    except CapacityError:
        return True
    return False


def test_a_timeout_in_the_queue_is_a_capacity_error() -> None:
    with serve(max_sessions=1, queue=1, queue_timeout=0.2) as server:
        env = make(server.target)
        with pytest.raises(CapacityError, match=r"within 0\.2 s") as refused:
            make(server.target)
        assert refused.value.retry_after
        env.close()
        make(server.target).close()
