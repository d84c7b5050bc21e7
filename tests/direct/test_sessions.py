"""Sessions on direct channels: leases, deadlines, deaths and closes work as on any other transport."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import (
    RemoteEnv,
    SessionClosedError,
    SessionLostError,
    StepTimeoutError,
)
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import Transport
from envwire.codec import decode_value, encode_value
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header
from envwire.wire.frames import Reply
from tests.direct.conftest import SETTINGS
from tests.direct.hosted_frames import FRAMES
from tests.faults.scene import active, alive, eventually
from tests.hosted_envs import Fault
from tests.tiers import first

FAULTY = "tests/Faulty-v0"
STEP_TIMEOUT = 1.0
kinds = pytest.mark.parametrize("kind", ["direct-tcp", "direct-unix"])


@pytest.fixture(scope="module")
def direct() -> Iterator[Server]:
    """A server that loses patience soon."""
    with Server(["direct/*", "tests/*"], step_timeout=STEP_TIMEOUT, **SETTINGS) as server:
        yield server


@pytest.mark.parametrize(
    ("fault", "error", "says", "kind"),
    [
        (Fault.HANG, StepTimeoutError, "within 1 s", "direct-tcp"),
        (Fault.HANG, StepTimeoutError, "within 1 s", "direct-unix"),
        (Fault.PRINT_FOREVER, StepTimeoutError, "spam", "direct-tcp"),
        (Fault.ABORT, SessionLostError, "SIGABRT", "direct-tcp"),
        (Fault.ABORT, SessionLostError, "SIGABRT", "direct-unix"),
        (Fault.EXIT, SessionLostError, "exited with status 3", "direct-tcp"),
        (Fault.PRINT_AND_ABORT, SessionLostError, "last words", "direct-unix"),
    ],
)
def test_a_faulty_environment_is_told_with_its_output_and_harms_no_other(
    direct: Server, fault: Fault, error: type[Exception], says: str, kind: str
) -> None:
    faulty, other = (RemoteEnv(direct.target, FAULTY, transport=kind) for _ in range(2))
    other.reset()
    pid = faulty.reset()[1]["pid"]
    with pytest.raises(error, match=says):
        faulty.step(int(fault))
    assert eventually(lambda: not alive(pid))
    with pytest.raises(SessionClosedError):
        faulty.step(0)
    assert other.step(0)[4] == {"steps": 1}
    assert faulty.reset()[0] == [0.0], "reset makes a new one"
    faulty.close()
    other.close()


@kinds
def test_a_killed_process_is_told_before_its_step_times_out(direct: Server, kind: str) -> None:
    env = RemoteEnv(direct.target, FAULTY, transport=kind)
    os.kill(env.reset()[1]["pid"], signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(0)
    env.close()


@kinds
def test_a_living_client_keeps_its_session_and_a_dead_one_frees_its_slot(
    direct: Server, kind: str
) -> None:
    script = (
        "import sys\nfrom envwire.client import RemoteEnv\n"
        f"env = RemoteEnv({direct.target!r}, {FAULTY!r}, transport={kind!r}, lease=2.0)\n"
        "print(env.reset()[1]['pid'], flush=True)\nsys.stdin.read()\n"
    )
    assert eventually(lambda: active(direct.target) == 0)
    client = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with client:
        assert client.stdout
        pid = int(client.stdout.readline())
        assert not eventually(lambda: active(direct.target) == 0, seconds=4.0), (
            "idle for two leases"
        )
        client.kill()
    assert eventually(lambda: active(direct.target) == 0 and not alive(pid))


@pytest.fixture(scope="module")
def tight() -> Iterator[Server]:
    """A server of one session."""
    with Server([FAULTY], **{**SETTINGS, "max_sessions": 1}) as server:
        yield server


@pytest.mark.parametrize("kind", first(["direct-tcp", "direct-unix", "direct"]))
def test_a_close_frees_the_slot_before_it_returns(tight: Server, kind: str) -> None:
    for _ in range(17):
        env = RemoteEnv(tight.target, FAULTY, transport=kind)
        env.reset()
        env.close()


def test_where_there_is_no_direct_channel_everything_goes_over_grpc() -> None:
    with Server([FAULTY], direct_port=-1, **SETTINGS) as server:
        env = RemoteEnv(server.target, FAULTY)
        env.reset()
        assert env.step(0)[4] == {"steps": 1}
        env.close()
        env = RemoteEnv(server.target, FAULTY, transport="stream")
        env.close()


class Talk:
    """One session, driven over several transports at once by messages of one's own."""

    def __init__(self, server: Server, env_id: str, **kwargs: Any) -> None:
        self.transports: dict[str, Transport] = {
            kind: open_transport(kind, server.target, 10.0)
            for kind in ("unary", "stream", "direct")
        }
        request = pb.InteractRequest(make=pb.MakeRequest(env_id=env_id))
        for name, value in kwargs.items():
            encode_value(value, request.make.kwargs.entries.add(name=name).value)
        self._header = b""
        self.made = self.ask("direct", request)[0].make
        self._header = session_header(self.made.session_id, self.made.secret)

    def ask(self, kind: str, request: pb.InteractRequest) -> tuple[pb.InteractResponse, Reply]:
        reply = self.transports[kind].exchange(request.SerializeToString(), 10.0, self._header)
        return pb.InteractResponse.FromString(reply.message), reply

    def step(self, kind: str, sequence: int, action: int = 0) -> tuple[Any, Reply]:
        request = pb.InteractRequest()
        encode_value(action, request.step.action)
        return self._numbered(kind, request, request.step, sequence)

    def reset(self, kind: str, sequence: int) -> tuple[Any, Reply]:
        request = pb.InteractRequest()
        encode_value(7, request.reset.seed)
        return self._numbered(kind, request, request.reset, sequence)

    def _numbered(
        self, kind: str, request: pb.InteractRequest, body: Any, sequence: int
    ) -> tuple[Any, Reply]:
        body.sequence = sequence
        response, reply = self.ask(kind, request)
        answer: Any = getattr(response, response.WhichOneof("response") or "")
        return answer, reply

    def close(self, sequence: int) -> None:
        request = pb.InteractRequest()
        self._numbered("unary", request, request.close, sequence)
        for transport in self.transports.values():
            transport.close()


@pytest.fixture
def talk(direct: Server, request: pytest.FixtureRequest) -> Iterator[Any]:
    made: list[Talk] = []

    def start(env_id: str, **kwargs: Any) -> Talk:
        made.append(Talk(direct, env_id, **kwargs))
        return made[-1]

    yield start
    for each in made:
        each.close(100)  # a gap, which closes all the same


def test_one_session_over_all_carriers_at_once(talk: Any) -> None:
    there = talk(FAULTY)
    there.reset("direct", 1)
    for sequence in range(2, 14):
        kind = ("unary", "stream", "direct")[sequence % 3]
        answer, _ = there.step(kind, sequence)
        assert decode_value(answer.observation, None) == [sequence - 1.0]


@pytest.mark.parametrize("size", [100, 5000, 200_000])
@pytest.mark.parametrize("again", ["unary", "stream"])
def test_a_kept_reply_is_asked_for_on_another_carrier(talk: Any, size: int, again: str) -> None:
    """Its arrays were beside the message on the channel, or in shared memory; elsewhere they are in it."""
    there = talk(FRAMES, shape=[size], chatty=True)
    there.reset("direct", 1)
    first, beside = there.step("direct", 2)
    if size != 5000:  # in the message, where the answer goes to the mailbox
        assert (beside.area is not None) == (size > 5000)
    kept, whole = there.step(again, 2)
    assert whole.area is None
    seen = decode_value(first.observation, None, area=beside.area)
    assert seen.shape == (size,)
    assert np.array_equal(seen, decode_value(kept.observation, None))
    repeated, area = there.step("direct", 2)
    assert np.array_equal(seen, decode_value(repeated.observation, None, area=area.area))
    assert there.step(again, 3)[0].reward == 20.0
    over_grpc, _ = there.step("direct", 3)
    assert over_grpc.reward == 20.0
