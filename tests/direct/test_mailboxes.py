"""Mailboxes of real servers: equal results, no loss if either end dies, and no leftovers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, RemoteVectorEnv, SessionLostError, aio
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.wire.local_channel import BOX_BYTES, ORDERED, AdaptiveSpin, Mailbox
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.direct.test_resuming import play
from tests.faults.scene import (
    active,
    address_space,
    alive,
    channel_of,
    eventually,
    files_named,
    resumed,
)

pytestmark = pytest.mark.skipif(not ORDERED, reason="no mailboxes on this machine")
NAME = "memfd:envwire-mailbox"
#: Descriptors of a mailbox in a session process: the one that it lends a program, and the copy of Python's mmap.
KEPT = 2


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the requests that went through a mailbox."""
    lengths: list[int] = []
    put = Mailbox.put

    def counted(box: Mailbox, frame: bytes) -> bool:
        goes = put(box, frame)
        if goes:
            lengths.append(len(frame))
        return goes

    monkeypatch.setattr(Mailbox, "put", counted)
    return lengths


def mapped(pid: int | str = "self") -> int:
    """Returns how many mailboxes a process has mapped."""
    gc.collect()
    return address_space(pid).count(NAME)


def opened(pid: int) -> int:
    """Returns how many descriptors of mailboxes a process has."""
    return files_named(pid, NAME)


def test_steps_go_through_the_mailbox(direct: Server, put: list[int]) -> None:
    """At least some of many: on a busy machine the waits are long, and no side polls."""
    with RemoteEnv(direct.target, FRAMES) as env, gym.make(FRAMES) as local:
        expected = play(local, 200)

        def through() -> bool:
            assert identical(play(env, 200), expected)
            return bool(put)

        assert eventually(through)


@pytest.mark.parametrize("shape", [(4,), (20, 1000), (84, 84, 4)], ids=str)
def test_answers_of_a_client_that_looks_there_go_through_it_whole(
    direct: Server, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = Mailbox.take

    def counted(box: Mailbox) -> bytes:
        frame = take(box)
        taken.append(len(frame))
        return frame

    monkeypatch.setattr(Mailbox, "take", counted)
    with RemoteEnv(direct.target, FRAMES, shape=shape) as env:
        env.reset(seed=1)
        spin = channel_of(env)._spin
        spin.moment, spin.short = 60.0, True  # however busy the machine is
        steps = [env.step(0) for _ in range(3)]
        assert all(length > steps[0][0].nbytes for length in taken[-3:])
        kept = [observation.copy() for observation, *_ in steps]
        env.step(0)
        assert identical([observation for observation, *_ in steps], kept)


@pytest.mark.parametrize("shape", [(4,), (20, 40), (20, 1000), (300, 400)], ids=str)
def test_an_episode_is_the_same_bit_for_bit(direct: Server, shape: tuple[int, ...]) -> None:
    with RemoteEnv(direct.target, FRAMES, shape=shape) as env, gym.make(FRAMES, shape=shape) as own:
        assert identical(play(env, 100), play(own, 100))


def test_there_is_none_over_tcp(direct: Server, put: list[int]) -> None:
    before = mapped()
    with RemoteEnv(direct.target, FRAMES, transport="direct-tcp") as env:
        play(env, 20)
        assert mapped() == before
    assert put == []


def test_there_is_none_for_sessions_that_share_a_process(put: list[int]) -> None:
    with (
        Server(["direct/*"], sessions_per_process=2, **SETTINGS) as server,
        RemoteEnv(server.target, FRAMES) as env,
    ):
        play(env, 20)
    assert put == []


def test_an_end_without_one_uses_the_socket(
    direct: Server, put: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay between Unix sockets passes the welcome on, but no descriptor."""
    received = socket.recv_fds

    def bare(*args: Any) -> Any:
        data, descriptors, flags, address = received(*args)
        for descriptor in descriptors:
            os.close(descriptor)
        return data, [], flags, address

    monkeypatch.setattr(socket, "recv_fds", bare)
    with RemoteEnv(direct.target, FRAMES) as env, gym.make(FRAMES) as local:
        assert identical(play(env, 50), play(local, 50))
    assert put == []


def test_asyncio_clients_get_replies_on_the_socket(direct: Server) -> None:
    async def steps() -> list[Any]:
        async with aio.RemoteEnv(direct.target, FRAMES) as env:
            observation, _ = await env.reset(seed=5)
            return [observation, *[await env.step(step % 4) for step in range(20)]]

    with gym.make(FRAMES) as local:
        assert identical(asyncio.run(steps()), play(local, 20))


def test_a_vector_has_mailboxes(direct: Server) -> None:
    before = mapped()
    with contextlib.closing(RemoteVectorEnv([direct.target] * 2, FRAMES, num_envs=4)) as envs:
        envs.reset(seed=1)
        for _ in range(50):
            envs.step(np.array([0, 1, 0, 1]))
        assert mapped() > before
    assert mapped() == before


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has this process look into the box first, however long its last wait was."""
    monkeypatch.setattr(AdaptiveSpin, "short", property(lambda _: True, lambda *_: None))


@pytest.mark.usefixtures("hasty")
def test_a_vector_receives_what_came_while_it_was_awake(direct: Server) -> None:
    envs = RemoteVectorEnv(direct.target, FRAMES, num_envs=4, sessions=4, batch_size=2)
    with contextlib.closing(envs):
        envs.reset_async(seed=1)
        for _ in range(100):
            batch = envs.recv()[-1]["env_id"]
            envs.send(np.zeros(2, int), batch)


@pytest.mark.usefixtures("hasty")
def test_a_dropped_environment_is_closed_although_its_reply_is_in_the_box(direct: Server) -> None:
    before = active(direct.target)
    env = RemoteVectorEnv(direct.target, FRAMES, num_envs=1, lease=600.0)
    env.reset()
    for _ in range(10):
        env.step([0])
    env.step_async([0])
    del env
    gc.collect()
    assert eventually(lambda: active(direct.target) == before)


def test_a_program_with_many_channels_asks_for_no_more(
    direct: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envwire.client._transports.direct import dialing

    before = mapped()
    monkeypatch.setattr(dialing, "_MOST_MAILBOXES", 1)
    with RemoteEnv(direct.target, FRAMES), RemoteEnv(direct.target, FRAMES) as second:
        play(second, 5)
        assert mapped() <= before + 1


@pytest.fixture
def hosted(direct: Server) -> Iterator[Any]:
    env = RemoteEnv(direct.target, FRAMES, shape=(4,), on_lost="raise")
    yield env
    env.close()


def test_a_killed_process_is_noticed_while_the_client_looks(hosted: Any) -> None:
    pid = hosted.reset()[1]["pid"]
    for _ in range(20):
        hosted.step(0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError):
        hosted.step(0)


def test_nothing_is_left_behind(direct: Server) -> None:
    before = mapped()
    env = RemoteEnv(direct.target, FRAMES, shape=(4,))
    pid = env.reset()[1]["pid"]
    assert mapped() == before + 1
    assert mapped(pid) == 1
    assert opened(os.getpid()) == 1, "Python's mmap keeps a copy"
    assert opened(pid) == KEPT
    env.close()
    assert mapped() == before
    assert eventually(lambda: not alive(pid))


def test_channels_that_were_replaced_leave_no_memory(direct: Server) -> None:
    with RemoteEnv(direct.target, FRAMES) as env:
        pid = env.reset()[1]["pid"]
        for _ in range(30):
            channel_of(env).shut_down()
            play(env, 3)
        assert resumed(env) == 30
        assert (mapped(pid), opened(pid)) == (1, KEPT)


def test_a_copy_of_a_session_has_no_memory_of_the_original(direct: Server) -> None:
    with RemoteEnv(direct.target, FRAMES) as env:
        play(env, 20)
        with env.fork() as copy:
            play(copy, 20)
            pid = copy.reset()[1]["pid"]
            assert (mapped(pid), opened(pid)) == (1, KEPT)


@pytest.mark.parametrize("box_bytes", [0, 1, 63, BOX_BYTES + 1, 2**32 - 1])
def test_a_mailbox_that_is_not_as_large_as_the_server_says_is_refused(
    direct: Server, box_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the next address is tried."""
    from envwire.client._transports.direct import direct_channel
    from envwire.v1 import direct_pb2

    mapping = direct_channel.map_mailbox

    def lied(descriptor: int, _: direct_pb2.Mailbox, wake: Any) -> Mailbox:
        return mapping(descriptor, direct_pb2.Mailbox(box_bytes=box_bytes), wake)

    monkeypatch.setattr(direct_channel, "map_mailbox", lied)
    with RemoteEnv(direct.target, FRAMES) as env:
        play(env, 5)


def test_machines_that_reorder_stores_ask_for_none(
    direct: Server, put: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from envwire.client._transports.direct import dialing

    monkeypatch.setattr(dialing, "ORDERED", False)
    before = mapped()
    with RemoteEnv(direct.target, FRAMES) as env:
        play(env, 20)
        assert mapped() == before
    assert put == []
    assert ORDERED
