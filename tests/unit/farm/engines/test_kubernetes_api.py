"""The calls of Kubernetes' API as the package `kubernetes` sends them, to an HTTP server that answers as told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from envwire.farm.engines.kubernetes_api import KubernetesApi, StaleError
from envwire.farm.engines.kubernetes_deployment import deployment
from envwire.farm.engines.kubernetes_pods import CHOSEN, DELETION_COST
from envwire.farm.gateway.groups.failures import EngineError, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig

pytest.importorskip("kubernetes")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # its pool is left to the collector

GROUP = GroupConfig(
    name="pole",
    engine="kubernetes",
    image="lab/pole:3",
    cpus=1.5,
    memory=10**9,
    gpu_count=1,
    secret="lab",
    server=ServerConfig(["CartPole-v1"], join=("gateway:50050",)),
)
SCALE = {"metadata": {"name": "d", "resourceVersion": "5"}, "spec": {"replicas": 2}}
PODS = "/api/v1/namespaces/lab/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/lab/deployments"


class Server(ThreadingHTTPServer):
    """Answers all requests alike.

    Attributes:
        status: The status.
        answer: The body.
        calls: Method, path and media type of each request.
        bodies: What it carried.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.answer = 200, {"items": [{"a": 1}]}
        self.calls: list[tuple[str, str, str]] = []
        self.bodies: list[Any] = []


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server

    def answer(self) -> None:
        path = self.path.partition("?")[0]
        self.server.calls.append((self.command, path, self.headers.get("Content-Type", "")))
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.bodies.append(json.loads(sent or b"null"))
        body = json.dumps(self.server.answer).encode() + b"\n"
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as made:
        url = f"http://127.0.0.1:{made.server_address[1]}"
        context = {"cluster": "c", "user": "u", "namespace": "lab"}
        config = {
            "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "contexts": [{"name": "x", "context": context}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }
        (tmp_path / "config").write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_calls_go_to_the_namespace_of_the_context(server: Server) -> None:
    async def run() -> None:
        api = KubernetesApi()
        assert await api.list("pod", "envwire.farm=f") == [{"a": 1}]
        await api.list("deployment", "envwire.farm=f")
        await api.create("deployment", deployment("f", GROUP, 1))
        await api.replace("deployment", "d", deployment("f", GROUP, 1))
        await api.read("deployment_scale", "d")
        await api.replace("deployment_scale", "d", SCALE)
        await api.patch("pod", "p", {"metadata": {"annotations": {DELETION_COST: CHOSEN}}})
        await api.delete("pod", "p")
        await api.delete("deployment", "d")

    asyncio.run(run())
    assert [each[:2] for each in server.calls] == [
        ("GET", PODS),
        ("GET", DEPLOYMENTS),
        ("POST", DEPLOYMENTS),
        ("PUT", f"{DEPLOYMENTS}/d"),
        ("GET", f"{DEPLOYMENTS}/d/scale"),
        ("PUT", f"{DEPLOYMENTS}/d/scale"),
        ("PATCH", f"{PODS}/p"),
        ("DELETE", f"{PODS}/p"),
        ("DELETE", f"{DEPLOYMENTS}/d"),
    ]
    assert "merge-patch+json" in server.calls[6][2]
    assert server.bodies[2] == server.bodies[3] == deployment("f", GROUP, 1)  # as it was meant
    assert server.bodies[5] == SCALE
    assert server.bodies[6] == {"metadata": {"annotations": {DELETION_COST: CHOSEN}}}


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Kind.PERMISSION), (403, Kind.PERMISSION), (422, Kind.SETTINGS), (500, Kind.ENGINE)],
)
def test_refusals_are_failures_with_the_words_of_the_api(
    server: Server, status: int, kind: Kind
) -> None:
    server.status, server.answer = status, {"message": "pods is forbidden"}  # type: ignore[dict-item]

    async def run() -> None:
        with pytest.raises(EngineError, match="pods is forbidden") as caught:
            await KubernetesApi().list("pod", "a=b")
        assert caught.value.failure.kind is kind

    asyncio.run(run())


@pytest.mark.parametrize("status", [404, 409])
def test_what_is_gone_or_was_changed_is_looked_at_again(server: Server, status: int) -> None:
    server.status, server.answer = status, {"message": "no"}  # type: ignore[dict-item]

    async def run() -> None:
        api = KubernetesApi()
        with pytest.raises(StaleError):
            await api.replace("deployment_scale", "d", SCALE)
        await api.delete("pod", "p")  # gone is gone

    asyncio.run(run())


def test_an_api_that_does_not_answer(server: Server) -> None:
    server.shutdown()
    server.server_close()

    async def run() -> Any:
        with pytest.raises(EngineError, match="the Kubernetes API does not answer") as caught:
            await KubernetesApi().list("pod", "a=b")
        assert caught.value.failure.kind is Kind.ENGINE

    asyncio.run(run())


def test_a_change_of_a_pod_is_told(server: Server) -> None:
    told = threading.Event()
    server.answer = {"type": "ADDED", "object": {"metadata": {"name": "p", "resourceVersion": "1"}}}  # type: ignore[dict-item]
    api = KubernetesApi()
    api.watch("envwire.farm=f", told.set)
    assert told.wait(60)
    api.close()
