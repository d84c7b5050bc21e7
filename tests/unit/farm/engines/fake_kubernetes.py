"""A cluster in memory: objects with versions, and what Kubernetes does with Deployments, one pod at a time."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from envwire.farm.engines.kubernetes_api import KubernetesApi, StaleError
from envwire.farm.engines.kubernetes_pods import DELETION_COST
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind


class Cluster:
    """The objects of a cluster.

    Attributes:
        forbidden: Calls that are refused, such as "create deployment".
        quota: Most pods.
        calls: The calls that changed something.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Any]]] = {
            "deployment": {},
            "pod": {},
            "event": {},
        }
        self.forbidden: set[str] = set()
        self.quota = 100
        self.calls: list[str] = []
        self._numbers = itertools.count(1)

    @property
    def pods(self) -> dict[str, dict[str, Any]]:
        """The pods that are not being removed."""
        return {
            name: each
            for name, each in self.objects["pod"].items()
            if "deletionTimestamp" not in each["metadata"]
        }

    def replicas(self, name: str) -> int:
        return int(self.objects["deployment"][name]["spec"]["replicas"])

    def touch(self, found: dict[str, Any]) -> None:
        found["metadata"]["resourceVersion"] = str(next(self._numbers))

    def set_status(self, pod: str, **status: Any) -> None:
        self.objects["pod"][pod]["status"] = status
        self.touch(self.objects["pod"][pod])

    def wait(self, pod: str, reason: str, message: str = "") -> None:
        """Has a pod's container wait for a reason."""
        waiting = {"waiting": {"reason": reason, "message": message}}
        self.set_status(pod, phase="Pending", containerStatuses=[{"state": waiting}])

    def warn(self, pod: str, message: str) -> None:
        """Has the kubelet warn of a pod."""
        number = next(self._numbers)
        self.objects["event"][str(number)] = {
            "involvedObject": {"name": pod},
            "lastTimestamp": f"2026-01-01T00:00:{number:02}Z",
            "message": message,
        }

    def run(self, pod: str) -> None:
        self.set_status(pod, phase="Running", containerStatuses=[{"state": {"running": {}}}])

    def settle(self) -> None:
        """Creates and removes pods, as the controllers of Kubernetes do, and ends those that are being removed."""
        pods = self.objects["pod"]
        for name in [name for name in pods if name not in self.pods]:
            del pods[name]
        owners = self.objects["deployment"]
        for name in [name for name, each in pods.items() if each["owner"] not in owners]:
            del pods[name]
        for name, owner in owners.items():
            self._settle(name, owner)

    def _settle(self, name: str, owner: dict[str, Any]) -> None:
        active = [
            pod
            for pod, each in self.pods.items()
            if each["owner"] == name and each["status"].get("phase") != "Failed"
        ]
        wanted = owner["spec"]["replicas"]
        refused = ""
        for _ in range(wanted - len(active)):
            if len(self.pods) >= self.quota:
                refused = f'pods "{name}" is forbidden: exceeded quota: few'
                break
            self._create_pod(name, owner)
        for pod in sorted(active, key=self._rank)[: max(len(active) - wanted, 0)]:
            del self.objects["pod"][pod]
        conditions = [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "message": refused,
                "lastUpdateTime": str(next(self._numbers)),
            }
        ]
        owner["status"] = {
            "observedGeneration": owner["metadata"]["generation"],
            "replicas": sum(each["owner"] == name for each in self.pods.values()),
            "conditions": conditions if refused else [],
        }

    def _create_pod(self, owner: str, by: Mapping[str, Any]) -> None:
        number = next(self._numbers)
        self.objects["pod"][f"{owner}-{number}"] = {
            "metadata": {
                "name": f"{owner}-{number}",
                "uid": str(number),
                "labels": by["spec"]["template"]["metadata"]["labels"],
                "annotations": {},
                "resourceVersion": str(number),
            },
            "status": {"phase": "Pending"},
            "owner": owner,
        }

    def _rank(self, name: str) -> tuple[bool, int]:
        pod = self.objects["pod"][name]
        cost = int(pod["metadata"]["annotations"].get(DELETION_COST, 0))
        return pod["status"].get("phase") == "Running", cost


class FakeApi(KubernetesApi):
    """The calls of one gateway.

    Args:
        cluster: The cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def list(self, what: str, selector: str = "", fields: str = "") -> list[dict[str, Any]]:
        self._check("list", what)
        if fields:
            assert fields == "type=Warning,involvedObject.kind=Pod"
            return [*self._cluster.objects[what].values()]
        name, _, value = selector.partition("=")
        objects = self._cluster.objects[what].values()
        return [
            copy.deepcopy(each) for each in objects if each["metadata"]["labels"][name] == value
        ]

    async def create(self, what: str, body: Mapping[str, Any]) -> None:
        self._check("create", what)
        objects, name = self._cluster.objects[what], body["metadata"]["name"]
        if name in objects:
            raise StaleError
        objects[name] = copy.deepcopy({**body, "status": {}})
        objects[name]["metadata"].update(uid=name, generation=1)
        self._cluster.touch(objects[name])

    async def read(self, what: str, name: str) -> Any:
        found = self._found("read", what.removesuffix("_scale"), name)
        return copy.deepcopy({key: found[key] for key in ("metadata", "spec")})

    async def replace(self, what: str, name: str, body: Mapping[str, Any]) -> None:
        found = self._found("replace", what.removesuffix("_scale"), name)
        self._check_version(found, body)
        found["spec"].update(body["spec"])
        found["metadata"].update(body["metadata"])
        found["metadata"]["generation"] += 1
        self._cluster.touch(found)

    async def patch(self, what: str, name: str, body: Mapping[str, Any]) -> None:
        found = self._found("patch", what, name)
        self._check_version(found, body)
        found["metadata"]["annotations"].update(body["metadata"]["annotations"])
        self._cluster.touch(found)

    async def delete(self, what: str, name: str) -> None:
        self._check("delete", what)
        if what == "deployment":
            self._cluster.objects[what].pop(name, None)
        elif name in self._cluster.objects[what]:
            self._cluster.objects[what][name]["metadata"]["deletionTimestamp"] = "now"

    def watch(self, selector: str, changed: Callable[[], object]) -> None:
        pass

    def close(self) -> None:
        pass

    def _check(self, verb: str, what: str) -> None:
        call = f"{verb} {what}"
        if verb != "list":
            self._cluster.calls.append(call)
        if call in self._cluster.forbidden:
            raise EngineError(Failure(Kind.PERMISSION, f"cannot {call}"))

    def _found(self, verb: str, what: str, name: str) -> dict[str, Any]:
        self._check(verb, what)
        if name not in self._cluster.objects[what]:
            raise StaleError
        return self._cluster.objects[what][name]

    def _check_version(self, found: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        version = body["metadata"].get("resourceVersion", "")
        if version not in ("", found["metadata"]["resourceVersion"]):
            raise StaleError
