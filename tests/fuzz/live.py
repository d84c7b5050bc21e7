"""Fuzzing a running server: its methods, its stream, its direct channel. A neighbour's episode must not notice."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import DecodeError

import envwire.envs as gym
from envwire.client import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER, PREAMBLE
from tests.conftest import ROOT
from tests.faults.scene import family_of, resident_bytes
from tests.fuzz.targets import check_reply

ENV = "CartPole-v1"
_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
_METHODS = [method.name for method in _SERVICE.methods if not method.client_streaming]
_SECONDS = 60.0
#: The session under attack outlives the time between two attacks on a busy machine; the server's own lease is short.
_LEASE_SECONDS = 60
_MEMORY_BYTES = 128 << 20


class Neighbour:
    """An episode on the server and the same one here, which must stay equal."""

    def __init__(self, target: str) -> None:
        self._there = RemoteEnv(target, ENV)
        self._here = gym.make(ENV)
        self._seed = 0
        self._begin()

    def _begin(self) -> None:
        self._seed += 1
        there, here = self._there.reset(seed=self._seed), self._here.reset(seed=self._seed)
        assert identical(there, here), f"{there} is not {here}"

    def look(self) -> None:
        """Takes a step in both.

        Raises:
            AssertionError: They differ.
        """
        action = self._seed % 2
        there, here = self._there.step(action), self._here.step(action)
        assert identical(there, here), f"{there} is not {here}"
        if here[2] or here[3]:
            self._begin()

    def close(self) -> None:
        """Ends both."""
        self._there.close()
        self._here.close()


class Live:
    """A server under attack.

    Attributes:
        lost: Sessions that had to be made anew.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._line: Any = grpc.insecure_channel(server.target)
        self.neighbour = Neighbour(server.target)
        self._before = self._memory()
        self.lost = 0
        self._made = self._make()

    def _memory(self) -> dict[int, int]:
        return {pid: resident_bytes(pid) for pid in family_of(self._server.pid)}

    def _call(self, method: str, raw: bytes) -> bytes:
        call = self._line.unary_unary(f"/{_SERVICE.full_name}/{method}")
        reply: bytes = call(raw, timeout=_SECONDS)
        return reply

    def _make(self) -> pb.MakeResponse:
        request = pb.MakeRequest(env_id=ENV)
        request.lease.seconds = _LEASE_SECONDS
        return pb.MakeResponse.FromString(self._call("Make", request.SerializeToString()))

    def _ours(self, raw: bytes) -> bytes:
        """Returns a request for the session that is attacked, where it is for a session."""
        try:
            request = pb.InteractRequest.FromString(raw)
        except DecodeError:
            return raw
        body = getattr(request, request.WhichOneof("request") or "make")
        if "header" in body.DESCRIPTOR.fields_by_name:
            body.header.CopyFrom(self._owner())
        return request.SerializeToString()

    def _owner(self) -> pb.SessionHeader:
        return pb.SessionHeader(session_id=self._made.session_id, secret=self._made.secret)

    def attack_methods(self, raw: bytes) -> None:
        """Sends bytes to a method: the method of the request, or one that the bytes choose."""
        method = _METHODS[sum(raw) % len(_METHODS)]
        try:
            self._call(method, raw)
        except grpc.RpcError as error:
            _check_refusal(error)

    def attack_stream(self, raw: bytes) -> None:
        """Sends bytes on a stream, alone and for a session that is there."""
        interact = self._line.stream_stream(f"/{_SERVICE.full_name}/Interact")
        replies = interact(iter([raw, self._ours(raw)]), timeout=_SECONDS)
        for reply in replies:
            check_reply(reply)

    def attack_hello(self, raw: bytes) -> None:
        """Sends bytes instead of a preamble, and as a hello."""
        for data in (raw, PREAMBLE + HEADER.pack(len(raw), 0, 0) + raw):
            with self._dial() as line:
                _say(line, data)

    def attack_channel(self, raw: bytes) -> None:
        """Sends bytes on a direct channel: as requests, then instead of one."""
        hello = direct_pb2.HelloRequest(header=self._owner()).SerializeToString()
        with self._dial() as line:
            frames = [HEADER.pack(len(each), 0, 0) + each for each in (hello, self._ours(raw), raw)]
            _say(line, PREAMBLE + b"".join(frames) + raw)

    def _dial(self) -> socket.socket:
        port = next(each for each in self._made.direct.addresses if "unix" not in each)
        return socket.create_connection(("127.0.0.1", int(port.rpartition(":")[2])), _SECONDS)

    def look(self) -> None:
        """Checks the server, and makes the attacked session again if it has closed.

        Raises:
            AssertionError: The neighbour noticed, or a process grew.
        """
        self.neighbour.look()
        now = self._memory()
        for pid, before in self._before.items():
            grown = now.get(pid, 0) - before  # a session that waited for a Make may have ended
            assert grown < _MEMORY_BYTES, f"process {pid} grew by {grown}"
        renewal = pb.RenewLeaseRequest(header=self._owner()).SerializeToString()
        try:
            self._call("RenewLease", renewal)
        except grpc.RpcError as error:
            if "was closed" not in str(error):
                raise AssertionError("the session was lost") from error
            self._made = self._make()
            self.lost += 1

    def grown(self) -> int:
        """Returns the bytes by which the process that grew most has grown."""
        now = self._memory()
        return max(now.get(pid, 0) - before for pid, before in self._before.items())

    def close(self) -> None:
        """Ends the attack."""
        self.neighbour.close()
        self._line.close()


def _check_refusal(error: grpc.RpcError) -> None:
    code = error.code() if isinstance(error, grpc.Call) else None
    assert code not in {None, grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED}, error


def _say(line: socket.socket, data: bytes) -> None:
    """Sends everything and reads until the server closes, as it must; it may do so without hearing all."""
    with contextlib.suppress(ConnectionError):
        line.sendall(data)
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionError):
        while line.recv(65536):
            pass


@contextmanager
def under_attack() -> Generator[Live]:
    """Starts a server, to be attacked."""
    settings: dict[str, Any] = {"max_sessions": 8, "lease": 2.0, "step_timeout": 5.0}
    limits: dict[str, Any] = {"max_envs_per_session": 4, "max_session_memory": 512 << 20}
    with Server([ENV], sys_path=(ROOT,), **settings, **limits) as server:
        live = Live(server)
        try:
            yield live
        finally:
            live.close()


#: Ways to attack a running server, by name.
ATTACKS = {
    "methods": Live.attack_methods,
    "stream": Live.attack_stream,
    "hello": Live.attack_hello,
    "direct channel": Live.attack_channel,
}
