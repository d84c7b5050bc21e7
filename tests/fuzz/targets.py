"""The targets: all code that reads a peer's bytes. It must answer, or refuse with the documented error.

Any other exception is a finding. So is a reply that blames the server itself.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message

import envwire.envs as gym
from envwire.client._transports.direct.direct_channel import Channel as ClientChannel
from envwire.codec import (
    CodecError,
    Reason,
    decode_env_spec,
    decode_fault,
    decode_mapping,
    decode_random_state,
    decode_space,
    decode_value,
    decode_warnings,
    envwire_family,
    exception_from_fault,
)
from envwire.codec.fastpath.step_responses import StepResponseReader
from envwire.server import InProcessTransport
from envwire.server._ipc.frames import FrameError, FrameReader
from envwire.server._session.session import Session
from envwire.server._worker.direct.channel import Channel, ChannelError
from envwire.v1 import direct_pb2, spaces_pb2, specs_pb2, status_pb2, values_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER

FAMILY = envwire_family()
_LIMIT = 1 << 20
_REFUSALS = (CodecError, DecodeError, ChannelError, FrameError, OSError)


@dataclass(frozen=True)
class Target:
    """One reader of bytes.

    Attributes:
        message: What it expects.
        read: Reads; raises nothing but what `refusals` names.
    """

    message: type[Message]
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = _REFUSALS

    def __call__(self, raw: bytes) -> str:
        """Lets it read, and returns what came of it: inputs that come to the same end are alike.

        Raises:
            Exception: A finding.
        """
        try:
            result = self.read(raw)
        except self.refusals as error:
            return f"{type(error).__name__}: {_skeleton(str(error))}"
        return result if isinstance(result, str) else type(result).__name__


def _skeleton(text: str) -> str:
    """Returns a message without what differs from input to input."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\[[^]]*\]|[0-9a-f.e+-]*[0-9]\w*|nan|inf", "#", text)[:60]


def _fault(raw: bytes) -> None:
    exception_from_fault(decode_fault(status_pb2.ErrorStatus.FromString(raw), FAMILY), FAMILY)


def _warnings(raw: bytes) -> None:
    decode_warnings(pb.StepResponse.FromString(raw).warnings)


def _with_area(raw: bytes) -> None:
    decode_value(values_pb2.Value.FromString(raw), FAMILY, area=np.zeros(256, np.uint8))


class _Quiet(gym.Env[Any, Any]):
    """An environment that takes anything."""

    observation_space = action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, np.float32), 0.0, False, False, {"action": action}


def _session(raw: bytes) -> str:
    session = Session(_Quiet(), FAMILY)
    for sequence in (1, 2):
        request = pb.InteractRequest()
        request.reset.sequence = sequence
        check_reply(session.handle(request.SerializeToString()).message)
    outcome = check_reply(session.handle(_numbered(raw, 3), True).message)
    check_reply(session.handle(raw).message)
    return outcome


def _numbered(raw: bytes, sequence: int) -> bytes:
    """Returns a request with the number that is next, where it has one."""
    try:
        request = pb.InteractRequest.FromString(raw)
    except DecodeError:
        return raw
    body = getattr(request, request.WhichOneof("request") or "make")
    if "sequence" in body.DESCRIPTOR.fields_by_name:
        body.sequence = sequence
    return request.SerializeToString()


def check_reply(raw: bytes) -> str:
    """Checks that a reply is readable and not an internal error; returns its content."""
    reply = pb.InteractResponse.FromString(raw)
    if reply.HasField("error"):
        fault = decode_fault(reply.error, FAMILY)
        assert fault.reason is not Reason.INTERNAL, "\n".join([fault.message, *fault.traceback])
        return f"{fault.reason.value}: {_skeleton(fault.message)}"
    return str(reply.WhichOneof("response"))


@cache
def _server() -> InProcessTransport:
    return InProcessTransport(["CartPole-v1"])


def _make(raw: bytes) -> str:
    request = pb.InteractRequest(make=pb.MakeRequest.FromString(raw))
    request.make.env_id = request.make.env_id or "CartPole-v1"
    request.make.vector.num_envs %= 4
    if not request.make.vector.num_envs:
        request.make.ClearField("vector")
    return check_reply(_server().exchange(request.SerializeToString(), 10.0).message)


def _step_reply(raw: bytes) -> None:
    reader = StepResponseReader(FAMILY)
    for area in (None, np.zeros(256, np.uint8)):
        reader.read(raw, area)


def _server_channel(raw: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(theirs, _LIMIT)
        ours.sendall(HEADER.pack(len(raw), 0, 0) + raw + raw)
        ours.shutdown(socket.SHUT_WR)
        for _ in range(4):
            channel.receive()


def _client_channel(raw: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = ClientChannel(ours)
        try:
            theirs.sendall(raw)
            theirs.shutdown(socket.SHUT_WR)
            channel.greet(b"", 1.0)
        finally:
            channel.close()


def _client_reply(raw: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = ClientChannel(ours)
        try:
            theirs.sendall(HEADER.pack(3, 0, 5) + b"abc" + b"defgh" + raw)
            theirs.shutdown(socket.SHUT_WR)
            for _ in range(3):
                channel.receive()
        finally:
            channel.close()


TARGETS: dict[str, Target] = {
    "value": Target(
        values_pb2.Value, lambda raw: decode_value(values_pb2.Value.FromString(raw), FAMILY)
    ),
    "value beside an area": Target(values_pb2.Value, _with_area),
    "mapping": Target(
        values_pb2.ValueMap, lambda raw: decode_mapping(values_pb2.ValueMap.FromString(raw), FAMILY)
    ),
    "space": Target(
        spaces_pb2.Space, lambda raw: decode_space(spaces_pb2.Space.FromString(raw), FAMILY)
    ),
    "environment spec": Target(
        specs_pb2.EnvSpec,
        lambda raw: decode_env_spec(specs_pb2.EnvSpec.FromString(raw), FAMILY, _Quiet),
    ),
    "random state": Target(
        spaces_pb2.RandomState,
        lambda raw: decode_random_state(spaces_pb2.RandomState.FromString(raw)),
    ),
    "fault": Target(status_pb2.ErrorStatus, _fault),
    "warnings": Target(pb.StepResponse, _warnings),
    "step reply": Target(pb.InteractResponse, _step_reply),
    "session": Target(pb.InteractRequest, _session, ()),
    "make": Target(pb.MakeRequest, _make, (DecodeError,)),
    "relay frames": Target(pb.InteractRequest, lambda raw: FrameReader(_LIMIT).feed(raw)),
    "server channel": Target(pb.InteractRequest, _server_channel),
    "client channel": Target(direct_pb2.HelloResponse, _client_channel),
    "client reply": Target(pb.InteractResponse, _client_reply),
}
