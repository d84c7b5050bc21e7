"""Tokens of clients reach a server only if its certificate, or the token that it joined with, covers its address."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from envwire.client import Credentials, RemoteEnv, RemoteError
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2
from tests.farm.scene import ENV, SECONDS, Gateway, server

_INFO = pb.GetServerInfoResponse(incarnation="listener", max_sessions=1000)
_HERE = ServerPatterns(addresses=("127.0.0.1:*",))


class Listener(grpc.GenericRpcHandler):
    """A server that keeps the tokens that it is shown, and answers nothing or makes sessions."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.tokens: list[str] = []
        self.answers: dict[str, Message] = {}

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        shown = dict(details.invocation_metadata or ())
        self.calls.append(details.method)
        self.tokens += [str(shown[key]) for key in ("authorization",) if key in shown]
        name = details.method.rpartition("/")[2]
        if name == "Interact" and self.answers:
            return grpc.stream_stream_rpc_method_handler(self._interact)
        if (answer := self.answers.get(name)) is None:
            return None
        return grpc.unary_unary_rpc_method_handler(lambda *_: answer.SerializeToString())

    def make_sessions(self) -> None:
        """Answers Makes from now on."""
        made = pb.MakeResponse(session_id="1-listener", secret=bytes(16), incarnation="listener")
        self.answers = {"Make": made, "GetServerInfo": _INFO}

    def _interact(self, requests: Iterator[bytes], _: Any) -> Iterator[bytes]:
        for _request in requests:
            yield pb.InteractResponse(make=self.answers["Make"]).SerializeToString()


class Scene:
    """A gateway, and tokens of one client and of two servers: one is bound to addresses, one is not."""

    def __init__(self, folder: Path) -> None:
        made = {
            "agent": new_token("agent", [Scope.PLAY, Scope.OBSERVE]),
            "free": new_token("free", [Scope.JOIN]),
            "bound": new_token("bound", [Scope.JOIN], _HERE),
        }
        (folder / "tokens").write_text("".join(f"{line}\n" for _, line in made.values()))
        for name, (token, _) in made.items():
            (folder / name).write_text(token)
        self.folder = folder
        self.tokens = {name: token for name, (token, _) in made.items()}
        self.gateway = Gateway("--tokens", str(folder / "tokens")).start()

    def shown(self, name: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.tokens[name]}"),)

    def registered(self) -> int:
        asked = farm_pb2.ListServersRequest()
        listed = self.gateway.farm.ListServers(asked, metadata=self.shown("agent"), timeout=SECONDS)
        return len(listed.servers)

    def make(self) -> pb.MakeResponse:
        """Makes as a stock client does, through the gateway."""
        stub, request = self.gateway.environments, pb.MakeRequest(env_id=ENV)
        made: pb.MakeResponse = stub.Make(request, metadata=self.shown("agent"), timeout=SECONDS)
        return made

    @contextlib.contextmanager
    def listening(self, name: str) -> Iterator[Listener]:
        """Registers a listener with a token, until the end of the block."""
        listener, over = Listener(), threading.Event()
        serving = grpc.server(ThreadPoolExecutor(2), (listener,))
        address = f"127.0.0.1:{serving.add_insecure_port('127.0.0.1:0')}"
        serving.start()
        hello = farm_pb2.ServerHello(
            server_id="listener",
            address=address,
            info=_INFO,
            environments=[
                pb.EnvironmentListing(library="gymnasium", spec=specs_pb2.EnvSpec(id=ENV))
            ],
        )

        def reports() -> Iterator[farm_pb2.RegisterRequest]:
            yield farm_pb2.RegisterRequest(hello=hello)
            while not over.wait(0.5):
                yield farm_pb2.RegisterRequest(load=farm_pb2.ServerLoad())

        call = self.gateway.farm.Register(reports(), metadata=self.shown(name))
        next(call)
        try:
            yield listener
        finally:
            over.set()
            call.cancel()
            serving.stop(None)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.gateway.kill()


@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
def test_nor_does_a_client_go_there_with_its_token(scene: Scene, transport: str) -> None:
    """The gateway relayed the Make without it, and the client went on at the address that the server had named."""
    with scene.listening("free") as listener:
        listener.make_sessions()
        credentials = Credentials(token=scene.tokens["agent"])
        with pytest.raises(RemoteError):  # in a session without spaces
            RemoteEnv(scene.gateway.target, ENV, transport=transport, credentials=credentials)
    assert any("Make" in call or "Interact" in call for call in listener.calls)
    assert not listener.tokens


@pytest.mark.parametrize("transport", ["unary", "stream"])
def test_a_server_that_names_any_address_gets_no_token(scene: Scene, transport: str) -> None:
    with scene.listening("free") as listener:
        credentials = Credentials(token=scene.tokens["agent"])
        with pytest.raises(RemoteError):  # from a server that knows nothing
            RemoteEnv(scene.gateway.target, ENV, transport=transport, credentials=credentials)
        with pytest.raises(grpc.RpcError):
            scene.make()
    assert any("Make" in call for call in listener.calls)
    assert not listener.tokens


def test_a_server_whose_token_is_for_its_address_gets_them(scene: Scene) -> None:
    with scene.listening("bound") as listener, pytest.raises(grpc.RpcError):
        scene.make()
    assert set(listener.tokens) == {f"Bearer {scene.tokens['agent']}"}


@pytest.mark.parametrize(("name", "passed"), [("bound", True), ("free", False)])
def test_a_client_is_told_why_its_token_is_kept_back(scene: Scene, name: str, passed: bool) -> None:
    files = {"tokens": scene.folder / "tokens", "join_token": scene.folder / name}
    with server(scene.gateway, **files):
        scene.gateway.wait_until(lambda: scene.registered() == 1)
        if passed:
            assert scene.make().session_id
            return
        with pytest.raises(grpc.RpcError, match="passes tokens on only to servers") as refused:
            scene.make()
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        # A ticket takes the token's place for clients that reach the server.
        credentials = Credentials(token=scene.tokens["agent"])
        with contextlib.closing(
            RemoteEnv(scene.gateway.target, ENV, transport="stream", credentials=credentials)
        ) as env:
            env.reset(seed=1)
