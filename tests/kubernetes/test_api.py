"""The Kubernetes engine on a real API server alone: what that accepts and refuses.

The pods are the test's: the controllers that would create them do not run.
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.farm.engines.engine import Observed
from envwire.farm.engines.kubernetes_api import KubernetesApi
from envwire.farm.engines.kubernetes_engine import KubernetesEngine
from envwire.farm.gateway.groups.failures import EngineError, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig
from tests.kubernetes.control_plane import NAMESPACE, Api, control_plane, kubeconfig, missing

pytest.importorskip("kubernetes")
MISSING = missing("kube-apiserver")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::urllib3.exceptions.InsecureRequestWarning"
    ),
]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SECONDS = 60.0


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with control_plane(tmp_path_factory.mktemp("cluster"), controllers=False) as running:
        yield running


class Scene:
    """A farm's Deployments and pods, and engines that look after them."""

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.farm = name
        self.changed = asyncio.Event()

    def group(self, **settings: Any) -> GroupConfig:
        given: dict[str, Any] = {"image": "lab/pole:3", "max": 8, **settings}
        server = ServerConfig(["CartPole-v1"], join=("gateway:50050",))
        return GroupConfig(name="pole", engine="kubernetes", server=server, **given)

    def engine(self, group: GroupConfig | None = None) -> KubernetesEngine:
        groups = [group or self.group()]
        return KubernetesEngine(self.farm, groups, self.changed, KubernetesApi())

    def replicas(self) -> int:
        return int(self.api.get(f"{DEPLOYMENTS}/{self.farm}-pole")["spec"]["replicas"])

    def add_pod(self, name: str) -> str:
        """Creates a pod of the Deployment's template, as Kubernetes' controllers do."""
        found = self.api.get(f"{DEPLOYMENTS}/{self.farm}-pole")
        template = found["spec"]["template"]
        labels = template["metadata"]["labels"]
        body = {"metadata": {"name": name, "labels": labels}, "spec": template["spec"]}
        self.api.call("POST", PODS, body)
        return name

    def pods(self) -> list[str]:
        listed = self.api.get(f"{PODS}?labelSelector=envwire.farm%3D{self.farm}")["items"]
        return [each["metadata"]["name"] for each in listed]


def scene(test: Callable[[Scene], Awaitable[None]]) -> Callable[..., None]:
    """Runs a test in an event loop, with the permissions of the manifests."""

    def run(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECONFIG", kubeconfig(api, tmp_path))

        async def begin() -> None:
            await test(Scene(api, test.__name__.replace("_", "-")[5:35].strip("-")))

        asyncio.run(begin())

    run.__name__ = test.__name__
    return run


async def look(engine: KubernetesEngine) -> Observed:
    return (await engine.observe()).get("pole", Observed())


@scene
async def test_scale(it: Scene) -> None:
    engine = it.engine(it.group(cpus=1.5, memory=10**9, gpu_count=1, secret="lab"))
    group = engine._groups["pole"]
    assert await look(engine) == Observed()
    await engine.scale(group, 2)
    assert it.replicas() == 2
    assert len((await look(engine)).running) == 2
    await engine.scale(group, 3)
    assert it.replicas() == 3
    names = {it.add_pod(f"scale-{number}") for number in range(3)}
    assert (await look(engine)).running == names
    await engine.scale(group, 2, ["scale-1"])
    assert it.replicas() == 2
    assert "scale-1" not in (await look(engine)).running
    await engine.stop()


@scene
async def test_watch(it: Scene) -> None:
    engine = it.engine()
    await engine.observe()
    await engine.scale(it.group(), 1)
    name = it.add_pod("watched")
    await asyncio.wait_for(it.changed.wait(), SECONDS)
    it.changed.clear()
    it.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
    await asyncio.wait_for(it.changed.wait(), SECONDS)
    await engine.stop()


@scene
async def test_what_cannot_run(it: Scene) -> None:
    engine = it.engine()
    await engine.scale(it.group(), 2)
    good, bad = it.add_pod("good"), it.add_pod("bad")
    waiting = {"reason": "ErrImagePull", "message": "lab/pole:3: not found"}
    container = {"name": "server", "image": "lab/pole:3", "imageID": "", "ready": False}
    container |= {"restartCount": 0, "state": {"waiting": waiting}}
    status = {"phase": "Pending", "containerStatuses": [container]}
    it.api.patch(f"{PODS}/{bad}/status", {"status": status})
    seen = await look(engine)
    [failure] = seen.failures
    assert failure.kind is Kind.IMAGE
    assert seen.running == {good}
    assert it.replicas() == 1
    assert it.pods() == [good]
    await engine.stop()


@scene
async def test_two_gateways(it: Scene) -> None:
    one, other = it.engine(), it.engine()
    await asyncio.gather(one.scale(it.group(), 2), other.scale(it.group(), 2))
    assert it.replicas() == 2
    idle, used = it.add_pod("idle"), it.add_pod("used")
    await look(one)
    await look(other)
    await asyncio.gather(*(each.scale(it.group(), 1, [idle]) for each in (one, other)))
    assert it.replicas() == 1
    assert (await look(one)).running == (await look(other)).running == {used}
    for each in (one, other):
        await each.stop()


@scene
async def test_changed_groups(it: Scene) -> None:
    first = it.engine()
    await first.observe()
    await first.scale(it.group(), 2)
    second = it.engine(it.group(image="lab/pole:4"))
    await second.observe()
    found = it.api.get(f"{DEPLOYMENTS}/{it.farm}-pole")["spec"]
    assert found["template"]["spec"]["containers"][0]["image"] == "lab/pole:4"
    assert found["replicas"] == 2
    for each in (first, second):
        await each.stop()


def test_permissions(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the error names the one that is missing; with the manifests' a gateway still reads no Secret."""
    config = json.loads(Path(kubeconfig(api, tmp_path)).read_text("utf-8"))
    gateway = Api(api.url, api.ca, config["users"][0]["user"]["token"])
    assert gateway.get(PODS)["kind"] == "PodList"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        gateway.get(f"/api/v1/namespaces/{NAMESPACE}/secrets")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        gateway.get("/api/v1/pods")
    monkeypatch.setenv("KUBECONFIG", kubeconfig(api, tmp_path, "nobody"))

    async def run() -> None:
        it = Scene(api, "nobody")
        with pytest.raises(EngineError, match=r'cannot list resource "deployments"') as caught:
            await it.engine().observe()
        assert caught.value.failure.kind is Kind.PERMISSION

    asyncio.run(run())
