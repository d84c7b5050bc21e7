"""The Kubernetes engine on a cluster in memory: what it orders, what it removes, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from envwire.farm.engines.engine import Observed
from envwire.farm.engines.kubernetes_api import KubernetesApi
from envwire.farm.engines.kubernetes_deployment import deployment
from envwire.farm.engines.kubernetes_engine import KubernetesEngine
from envwire.farm.gateway.groups.failures import EngineError, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig
from tests.unit.farm.engines.fake_kubernetes import Cluster, FakeApi

NAME = "farm-pole"


def group(**settings: Any) -> GroupConfig:
    given = {"image": "lab/pole:3", "max": 8, **settings}
    labels = given.pop("labels", ())
    server = ServerConfig(["CartPole-v1"], join=("gateway:50050",), labels=labels)
    return GroupConfig(name="pole", engine="kubernetes", server=server, **given)


class Scene:
    """A cluster, and an engine that looks after one group of it."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.group = group()
        self.engine = self.another()

    def another(self, *groups: GroupConfig) -> KubernetesEngine:
        """Returns the engine of another gateway."""
        api = FakeApi(self.cluster)
        return KubernetesEngine("farm", groups or [self.group], asyncio.Event(), api)

    async def look(self, engine: KubernetesEngine | None = None) -> Observed:
        return (await (engine or self.engine).observe()).get("pole", Observed())

    async def start(self, count: int) -> list[str]:
        """Starts pods, and returns their names."""
        await self.engine.scale(self.group, count)
        self.cluster.settle()
        for name in self.cluster.pods:
            self.cluster.run(name)
        return sorted((await self.look()).running)


def scene(test: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    """Runs a test in an event loop."""

    def run() -> None:
        async def begin() -> None:
            await test(Scene())

        asyncio.run(begin())

    run.__name__ = test.__name__
    return run


@scene
async def test_the_first_server_makes_the_deployment_and_others_scale_it(it: Scene) -> None:
    assert await it.look() == Observed()
    assert not it.cluster.objects["deployment"]
    await it.engine.scale(it.group, 2)
    assert len((await it.look()).running) == 2  # although Kubernetes has created none yet
    it.cluster.settle()
    assert (await it.look()).running == it.cluster.pods.keys()
    await it.engine.scale(it.group, 3)
    it.cluster.settle()
    assert len((await it.look()).running) == 3


@scene
async def test_the_named_server_stops_and_no_other(it: Scene) -> None:
    names = await it.start(3)
    await it.engine.scale(it.group, 2, [names[1]])
    assert names[1] not in (await it.look()).running
    it.cluster.settle()
    assert sorted(it.cluster.pods) == [names[0], names[2]]
    assert (await it.look()).running == {names[0], names[2]}


@scene
async def test_a_chosen_server_stops_although_kubernetes_removes_one_that_is_not_ready(
    it: Scene,
) -> None:
    [idle] = await it.start(1)
    await it.engine.scale(it.group, 2)
    it.cluster.settle()
    await it.look()
    await it.engine.scale(it.group, 1, [idle])
    it.cluster.settle()
    assert set(it.cluster.pods) == {idle}
    assert (await it.look()).running != {idle}  # which deletes it
    it.cluster.settle()
    assert len(it.cluster.pods) == 1
    assert idle not in it.cluster.pods


@scene
async def test_a_lost_server_is_replaced(it: Scene) -> None:
    [lost] = await it.start(1)
    await it.engine.scale(it.group, 1, [lost])
    assert it.cluster.replicas(NAME) == 1
    await it.look()
    it.cluster.settle()
    assert len(it.cluster.pods) == 1
    assert lost not in it.cluster.pods


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("ErrImagePull", Kind.IMAGE),
        ("ImagePullBackOff", Kind.IMAGE),
        ("InvalidImageName", Kind.IMAGE),
        ("CreateContainerConfigError", Kind.SETTINGS),
    ],
)
def test_a_pod_that_cannot_run_is_removed_and_said_once(reason: str, kind: Kind) -> None:
    async def run() -> None:
        it = Scene()
        good, bad = await it.start(2)
        it.cluster.wait(bad, reason, "not found: lab/pole:3")
        seen = await it.look()
        assert [each.kind for each in seen.failures] == [kind]
        assert "not found: lab/pole:3" in seen.failures[0].text
        assert seen.running == {good}
        it.cluster.settle()
        assert set(it.cluster.pods) == {good}
        assert it.cluster.replicas(NAME) == 1
        seen = await it.look()
        assert (seen.running, list(seen.failures)) == ({good}, [])

    asyncio.run(run())


@scene
async def test_a_restarted_container_is_told_and_a_crash_loop_is_ended(it: Scene) -> None:
    [pod] = await it.start(1)
    crash = {"exitCode": 2, "message": "no licence\n", "finishedAt": "10:00"}
    running = {"state": {"running": {}}, "lastState": {"terminated": crash}}
    it.cluster.set_status(pod, phase="Running", containerStatuses=[running])
    seen = await it.look()
    assert (seen.running, len(seen.failures)) == ({pod}, 1)
    assert "ended by itself, with status 2: no licence" in seen.failures[0].text
    assert not (await it.look()).failures
    again = {**crash, "finishedAt": "10:01"}
    loop = {
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": again},
    }
    it.cluster.set_status(pod, phase="Running", containerStatuses=[loop])
    seen = await it.look()
    assert (seen.running, len(seen.failures)) == (frozenset(), 1)
    it.cluster.settle()
    assert not it.cluster.pods


@scene
async def test_lack_of_memory_is_told(it: Scene) -> None:
    [pod] = await it.start(1)
    killed = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "10:00"}
    it.cluster.set_status(
        pod, phase="Running", containerStatuses=[{"lastState": {"terminated": killed}}]
    )
    [failure] = (await it.look()).failures
    assert failure.kind is Kind.MEMORY


@scene
async def test_a_pod_without_a_node_is_waited_for_and_its_lack_is_said(it: Scene) -> None:
    [pod] = await it.start(1)
    full = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    it.cluster.set_status(pod, phase="Pending", conditions=[full])
    seen = await it.look()
    assert seen.running == {pod}
    assert not seen.failures
    assert "no node has room for it: 0/1 nodes are available: 1 Insufficient cpu." in seen.lacking


@scene
async def test_a_pod_whose_node_is_gone_is_replaced_by_kubernetes_and_told(it: Scene) -> None:
    [pod] = await it.start(1)
    gone = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "node is unreachable",
    }
    it.cluster.set_status(pod, phase="Running", conditions=[gone])
    it.cluster.objects["pod"][pod]["metadata"]["deletionTimestamp"] = "now"
    seen = await it.look()
    assert pod not in seen.running
    assert len(seen.running) == 1  # the one to come
    assert "node is unreachable" in seen.failures[0].text


@scene
async def test_an_evicted_pod_is_removed_and_its_place_kept(it: Scene) -> None:
    [pod] = await it.start(1)
    it.cluster.set_status(pod, phase="Failed", reason="Evicted", message="low on memory")
    it.cluster.settle()
    seen = await it.look()
    assert "Evicted: low on memory" in seen.failures[0].text
    it.cluster.settle()
    assert len(it.cluster.pods) == 1
    assert it.cluster.replicas(NAME) == 1


@scene
async def test_a_quota_of_the_namespace_is_told_and_not_tried_for_ever(it: Scene) -> None:
    it.cluster.quota = 1
    await it.engine.scale(it.group, 3)
    it.cluster.settle()
    seen = await it.look()
    [failure] = seen.failures
    assert failure.kind is Kind.PERMISSION
    assert "exceeded quota" in failure.text
    assert seen.running == it.cluster.pods.keys()
    assert it.cluster.replicas(NAME) == 1


@scene
async def test_a_missing_permission_is_an_error_of_the_engine(it: Scene) -> None:
    it.cluster.forbidden = {"create deployment"}
    with pytest.raises(EngineError, match="no permission: cannot create deployment"):
        await it.engine.scale(it.group, 1)


@scene
async def test_two_gateways_start_nothing_twice_and_stop_nothing_twice(it: Scene) -> None:
    other = it.another()
    await it.look(other)
    await asyncio.gather(it.engine.scale(it.group, 2), other.scale(it.group, 2))
    it.cluster.settle()
    assert len(it.cluster.pods) == 2
    for name in it.cluster.pods:
        it.cluster.run(name)
    names = sorted((await it.look()).running)
    await it.look(other)
    stops = (each.scale(it.group, 1, [names[0]]) for each in (it.engine, other))
    await asyncio.gather(*stops)
    it.cluster.settle()
    assert sorted(it.cluster.pods) == [names[1]]


@scene
async def test_two_gateways_remove_a_pod_that_cannot_run_once(it: Scene) -> None:
    other = it.another()
    good, bad = await it.start(2)
    it.cluster.wait(bad, "ErrImagePull")
    await asyncio.gather(it.look(), it.look(other))
    it.cluster.settle()
    assert set(it.cluster.pods) == {good}


@scene
async def test_a_gateway_that_starts_again_finds_what_runs(it: Scene) -> None:
    names = await it.start(2)
    before = len(it.cluster.calls)
    assert (await it.look(it.another())).running == set(names)
    assert len(it.cluster.calls) == before


@scene
async def test_changed_groups_get_their_settings_once_and_removed_ones_go(it: Scene) -> None:
    await it.start(2)
    changed = group(image="lab/pole:4")
    newer = it.another(changed)
    await it.look(newer)
    spec = it.cluster.objects["deployment"][NAME]["spec"]
    assert spec["template"]["spec"]["containers"][0]["image"] == "lab/pole:4"
    assert spec["replicas"] == 2
    await it.look()  # the older gateway's, which leaves that alone
    assert spec["template"]["spec"]["containers"][0]["image"] == "lab/pole:4"
    other = GroupConfig(
        name="other", engine="kubernetes", image="x", server=ServerConfig(["a"], join=("g:1",))
    )
    await it.look(it.another(other))
    assert not it.cluster.objects["deployment"]


def test_what_a_pod_may_use_and_do() -> None:
    pole = group(
        cpus=1.5,
        memory=10**9,
        gpu_count=2,
        secret="lab",
        node_selector=("kind=gpu",),
        labels=("cost=$5",),
    )
    pod = deployment("farm", pole, 1)["spec"]["template"]["spec"]
    [container] = pod["containers"]
    limits = {"cpu": "1.5", "memory": "1000000000", "nvidia.com/gpu": "2"}
    assert container["resources"] == {"requests": limits, "limits": limits}
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not pod["automountServiceAccountToken"]
    assert pod["nodeSelector"] == {"kind": "gpu"}
    assert pod["volumes"][1]["secret"] == {"secretName": "lab"}
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert given["ENVWIRE_LABELS"] == "cost=$$5 group=pole instance=$(POD_NAME)"
    assert given["ENVWIRE_JOIN"] == "gateway:50050"
    assert pod["terminationGracePeriodSeconds"] > pole.server.drain_timeout


def test_without_a_cluster_the_engine_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pytest.importorskip("kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    async def run() -> None:
        with pytest.raises(EngineError, match="no cluster is configured"):
            await KubernetesEngine("farm", [group()], asyncio.Event(), KubernetesApi()).observe()

    asyncio.run(run())


@scene
async def test_a_secret_that_is_missing_is_what_its_server_lacks(it: Scene) -> None:
    """Kubernetes says so in an event alone: the pod's status is that of a container that is being created."""
    await it.engine.scale(it.group, 1)
    it.cluster.settle()
    [pod] = it.cluster.pods
    it.cluster.wait(pod, "ContainerCreating")
    it.cluster.warn("another", "something else")
    it.cluster.warn(pod, "network is not ready")
    it.cluster.warn(pod, 'MountVolume.SetUp failed for volume "secret" : secret "lab" not found')
    seen = await it.look()
    assert seen.lacking.startswith("its container is not created: MountVolume.SetUp failed")
    assert seen.lacking.endswith('secret "lab" not found')
    assert not seen.doing
    it.cluster.run(pod)
    assert not (await it.look()).lacking


@scene
async def test_warnings_that_the_farm_may_not_read_are_left_out(it: Scene) -> None:
    it.cluster.forbidden.add("list event")
    await it.engine.scale(it.group, 1)
    it.cluster.settle()
    it.cluster.wait(*it.cluster.pods, "ContainerCreating")
    assert (await it.look()).doing.startswith("its container is being created")
