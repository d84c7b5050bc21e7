"""A farm on demand whose servers are pods, on a real API server with real controllers and a real scheduler.

The nodes are the test's (see `kubelet`): no container runs here. The gateways have the permissions of the manifests.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from envwire.client import CapacityError, RemoteEnv
from envwire.farm.engines.kubernetes_deployment import deployment
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig
from tests.farm.on_demand import SECONDS, OnDemand, Pole, on_demand
from tests.farm.scene import free_port
from tests.kubernetes.control_plane import (
    MANIFESTS,
    NAMESPACE,
    Api,
    control_plane,
    kubeconfig,
    missing,
    wait_until,
)
from tests.kubernetes.kubelet import IMAGE, Node

yaml = pytest.importorskip("yaml")
pytest.importorskip("kubernetes")
MISSING = missing("kube-apiserver", "kube-controller-manager", "kube-scheduler")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.timeout(600),
]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
FILE = """
join = ["127.0.0.1:{port}", "127.0.0.2:{port}"]
drain_timeout = 1
sessions_per_process = 64

[groups.pole]
environments = ["CartPole-v1"]
image = "{image}"
max = 4
idle = 1
max_sessions = 4
cpus = 1

[groups.nowhere]
environments = ["Pendulum-v1"]
image = "registry.example/nowhere:1"

[groups.huge]
environments = ["Acrobot-v1"]
image = "{image}"
cpus = 64
wait = 30

[groups.secretive]
environments = ["MountainCarContinuous-v0"]
image = "{image}"
secret = "late"
start_timeout = 60

[groups.crashing]
environments = ["MountainCar-v0"]
image = "{image}"
imports = ["no_such_module"]
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with control_plane(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def node(api: Api) -> Iterator[Node]:
    made = Node(api, "node-1", cpus=4)
    yield made
    made.vanish()


class Scene:
    """A file of groups, and farms that take it at one port, each with the permissions of the manifests."""

    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.port = free_port()
        self.file = folder / "farm.toml"
        self.write(FILE)
        self.config = kubeconfig(api, folder)

    def write(self, text: str) -> None:
        self.file.write_text(text.format(port=self.port, image=IMAGE))

    def up(self, host: str = "127.0.0.1", config: str = "") -> Any:
        options = ("--on", "kubernetes", "--host", host)
        return on_demand(self.file, *options, port=self.port, KUBECONFIG=config or self.config)

    def _named(self, path: str) -> list[dict[str, Any]]:
        label = f"envwire.farm%3Denvwire-farm-{self.port}"
        found: list[dict[str, Any]] = self.api.get(f"{path}?labelSelector={label}")["items"]
        return found

    def pods(self, group: str = "") -> list[str]:
        """Returns the names of pods that are not being removed."""
        return [
            each["metadata"]["name"]
            for each in self._named(PODS)
            if "deletionTimestamp" not in each["metadata"]
            and group in ("", each["metadata"]["labels"]["envwire.group"])
        ]

    def created(self, group: str) -> set[str]:
        """Returns the names of all pods that were ever created for a group, as events tell."""
        events = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
        mark = f"Created pod: envwire-farm-{self.port}-{group}-"
        return {each["message"] for each in events if each["message"].startswith(mark)}

    def clean(self) -> None:
        for each in self._named(DEPLOYMENTS):
            self.api.call("DELETE", f"{DEPLOYMENTS}/{each['metadata']['name']}")
        wait_until(lambda: not self._named(PODS))


@pytest.fixture
def scene(api: Api, node: Node, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(api, tmp_path)
    yield made
    made.clean()


def test_from_no_pod_to_some_and_back(scene: Scene) -> None:
    with scene.up() as farm:
        assert not scene.pods()
        with ThreadPoolExecutor(16) as pool:
            envs = list(pool.map(lambda _: RemoteEnv(farm.target, "CartPole-v1"), range(16)))
        assert len(scene.pods("pole")) == 4
        assert len(scene.created("pole")) <= 4  # none twice
        for env in envs:
            env.close()
        farm.until(lambda: not scene.pods())
        farm.until(farm.is_empty)


def test_the_used_pod_stays_and_the_idle_one_stops(scene: Scene) -> None:
    with scene.up() as farm, Pole(farm.target) as pole:
        pole.reset(seed=2)
        [used] = scene.pods("pole")
        with ThreadPoolExecutor(8) as pool:
            envs = list(pool.map(lambda _: RemoteEnv(farm.target, "CartPole-v1"), range(8)))
        assert len(scene.pods("pole")) == 3
        for env in envs:
            env.close()
        farm.until(lambda: scene.pods("pole") == [used])
        pole.step(1, 0)


def test_an_image_that_does_not_exist(scene: Scene) -> None:
    with scene.up() as farm:
        with pytest.raises(CapacityError, match=r"no image: .*ErrImagePull.*not found"):
            RemoteEnv(farm.target, "Pendulum-v1")
        assert farm.state("nowhere") == "FAILING"
        farm.until(lambda: not scene.pods())
        assert len(scene.created("nowhere")) == 1


def test_no_node_has_room(scene: Scene) -> None:
    with scene.up() as farm:
        with pytest.raises(CapacityError, match=r"no node has room for it: .*Insufficient cpu"):
            RemoteEnv(farm.target, "Acrobot-v1")
        farm.until(lambda: not scene.pods())


def test_a_secret_that_is_missing(scene: Scene) -> None:
    """It is said while it is missing; once it is there, the Make that waits is served."""
    secrets = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    with scene.up() as farm, ThreadPoolExecutor(1) as pool:
        making = pool.submit(RemoteEnv, farm.target, "MountainCarContinuous-v0")
        farm.until(lambda: 'secret "late" not found' in farm.groups()["secretive"].doing)
        scene.api.call("POST", secrets, {"metadata": {"name": "late"}})
        try:
            making.result(SECONDS).close()
        finally:
            scene.api.call("DELETE", f"{secrets}/late")


def test_a_crash_loop(scene: Scene) -> None:
    with scene.up() as farm:
        with pytest.raises(CapacityError, match="no_such_module"):
            RemoteEnv(farm.target, "MountainCar-v0")
        farm.until(lambda: farm.state("crashing") in ("FAILING", "STOPPED"))
        farm.until(lambda: not scene.pods())
        assert "ended by itself" in farm.groups()["crashing"].last_error


def test_a_permission_that_is_missing(scene: Scene, tmp_path: Path) -> None:
    config = kubeconfig(scene.api, tmp_path, "nobody")
    with (
        scene.up(config=config) as farm,
        pytest.raises(CapacityError, match=r'no permission: .*cannot list resource "deployments"'),
    ):
        RemoteEnv(farm.target, "CartPole-v1")


def test_a_quota_of_the_namespace(scene: Scene) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
    scene.api.call("POST", path, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}})
    try:
        wait_until(lambda: scene.api.get(f"{path}/few").get("status", {}).get("hard"))
        with scene.up() as farm:
            with pytest.raises(CapacityError, match=r"no permission: .*exceeded quota"):
                RemoteEnv(farm.target, "CartPole-v1")
            farm.until(lambda: not scene.pods())
    finally:
        scene.api.call("DELETE", f"{path}/few")


def test_a_killed_gateway_finds_its_pods_and_sessions_go_on(scene: Scene) -> None:
    with scene.up() as farm:
        pole = Pole(farm.target)
        pole.reset(seed=4)
        [before] = scene.pods("pole")
        farm.process.send_signal(signal.SIGKILL)
        farm.process.wait(60)
    pole.step(1)
    with scene.up() as farm:
        farm.until(lambda: farm.groups()["pole"].servers == 1)
        pole.step(0)
        pole.close()
        assert scene.created("pole") == {f"Created pod: {before}"}
        farm.until(lambda: not scene.pods())


def test_two_gateways_start_and_stop_nothing_twice(scene: Scene) -> None:
    with scene.up() as farm, scene.up("127.0.0.2") as other:
        with ThreadPoolExecutor(8) as pool:
            targets = [farm.target, other.target] * 4
            envs = list(pool.map(lambda each: RemoteEnv(each, "CartPole-v1"), targets))
        both: list[OnDemand] = [farm, other]
        for each in both:
            each.until(lambda each=each: each.groups()["pole"].active_sessions == 8)
        for env in envs:
            env.close()
        for each in both:
            each.until(each.is_empty)
        assert (
            len(scene.created("pole")) <= 4
        )  # each may have ordered for the Makes that wait at it
        assert not farm.groups()["pole"].last_error


def test_changed_settings_are_rolled_out(scene: Scene) -> None:
    kept = FILE.replace("cpus = 1\n", "cpus = 1\nmin = 1\n")
    scene.write(kept)
    with scene.up() as farm:
        farm.until(lambda: farm.groups()["pole"].servers == 1)
        [before] = scene.pods("pole")
    scene.write(kept.replace("cpus = 1\n", "cpus = 0.5\n"))
    with scene.up() as farm:
        farm.until(lambda: scene.pods("pole") and before not in scene.pods("pole"))
        with Pole(farm.target) as pole:
            pole.reset(seed=7)


def test_a_node_that_goes(scene: Scene) -> None:
    """Its pods are found dead by the gateway, in seconds, and others start elsewhere."""
    scene.api.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
    doomed = Node(scene.api, "node-2", cpus=4)
    try:
        with scene.up() as farm, Pole(farm.target, on_lost="replay") as pole:
            pole.reset(seed=8)
            scene.api.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": None}})
            doomed.vanish()
            pole.step(0, 1, 0)
    finally:
        doomed.vanish()
        scene.api.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": None}})
        scene.api.call("DELETE", "/api/v1/nodes/node-2")


def test_the_deployment_is_valid() -> None:
    validate = pytest.importorskip("kubernetes_validate")
    server = ServerConfig(["CartPole-v1"], join=("gateway:50050",))
    more: dict[str, Any] = {"gpu_count": 1, "memory": 10**9, "secret": "lab", "cpus": 1.5}
    group = GroupConfig(name="pole", engine="kubernetes", image="pole:3", server=server, **more)
    validate.validate(deployment("farm", group, 1), "1.30", strict=True)
    rendered = subprocess.run(
        ["kubectl", "kustomize", str(MANIFESTS)], capture_output=True, text=True, check=False
    )
    if rendered.returncode == 0:
        for each in yaml.safe_load_all(rendered.stdout):
            validate.validate(each, "1.30", strict=True)
