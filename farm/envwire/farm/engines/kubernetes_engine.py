"""The Kubernetes engine: a Deployment for each group, made when its first server is needed, and scaled.

Kubernetes places pods, restarts a container that ends, and replaces pods of nodes that go. The farm decides how many
there are and which of them stop, and removes pods that cannot run, so that the pauses between attempts are the group's.
Deployments outlive the farm, whose gateway is a pod like others: sessions go on while it is replaced. Two gateways may
look after the same Deployments: numbers are set and not added, and a pod is chosen to stop by one of them only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envwire.farm.engines.engine import Observed
from envwire.farm.engines.kubernetes_api import KubernetesApi, StaleError
from envwire.farm.engines.kubernetes_deployment import (
    DIGEST,
    FARM,
    GROUP,
    deployment,
    deployment_name,
    digest_of,
)
from envwire.farm.engines.kubernetes_pods import (
    CHOSEN,
    DELETION_COST,
    Pod,
    creation_failure,
    newest_warnings,
    read_pod,
    warned,
)
from envwire.farm.gateway.groups.failures import EngineError
from envwire.farm.gateway.groups.group_config import GroupConfig

#: How often a number is set again that another gateway changed in between.
_ATTEMPTS = 5
#: Seconds between two looks at Kubernetes' warnings, which are of the whole namespace.
_WARNINGS_SECONDS = 5.0


class KubernetesEngine:
    """Runs servers as pods.

    Args:
        farm: Name of the farm; a later one of this name, or another gateway, keeps its Deployments.
        groups: The groups that run here. Deployments of others are deleted.
        changed: Set when a pod changes.
        api: The cluster.
    """

    def __init__(
        self,
        farm: str,
        groups: Iterable[GroupConfig],
        changed: asyncio.Event,
        api: KubernetesApi,
    ) -> None:
        self._farm = farm
        self._groups = {each.name: each for each in groups}
        self._changed = changed
        self._api = api
        self._selector = f"{FARM}={farm}"
        self._pods: dict[str, Pod] = {}
        self._told: set[str] = set()
        self._warnings: dict[str, str] = {}
        self._warnings_due = 0.0
        self._is_prepared = False

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Sets the number of a group's pods (see `Engine.scale`); none stops that is not named."""
        chosen = [name for name in stop if await self._choose(name)]
        for _ in range(_ATTEMPTS):
            if await self._set(group, servers, len(chosen)):
                return

    async def _choose(self, name: str) -> bool:
        """Marks the pod as the one to stop; returns whether the number of pods has to go down for it."""
        pod = self._pods.get(name)
        if pod is None:  # one that Kubernetes has not created
            return True
        if pod.is_chosen:
            return False
        mark = {
            "metadata": {
                "resourceVersion": pod.version,
                "annotations": {DELETION_COST: CHOSEN},
            }
        }
        try:
            await self._api.patch("pod", name, mark)
        except StaleError:  # it is gone, or has changed: the next look decides again
            return False
        return True

    async def _set(self, group: GroupConfig, servers: int, stopped: int) -> bool:
        """Sets the number of pods; returns False if somebody else changed it in between."""
        name = deployment_name(self._farm, group.name)
        try:
            now = await self._api.read("deployment_scale", name)
        except StaleError:
            return not servers or await self._create(group, servers)
        there = now["spec"].get("replicas", 0)
        wanted = max(servers, there - stopped)
        if wanted == there:
            return True
        now["spec"]["replicas"] = wanted
        try:
            await self._api.replace("deployment_scale", name, now)
        except StaleError:
            return False
        return True

    async def _create(self, group: GroupConfig, servers: int) -> bool:
        try:
            await self._api.create("deployment", deployment(self._farm, group, servers))
        except StaleError:  # another gateway did
            return False
        return True

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the pods of all groups (see `Engine.observe`)."""
        deployments = await self._api.list("deployment", self._selector)
        listed = await self._api.list("pod", self._selector)
        pods = await self._warned([read_pod(each, GROUP) for each in listed])
        self._pods = {each.name: each for each in pods}
        if not self._is_prepared:
            await self._prepare(deployments)
        by_group = defaultdict[str, list[Pod]](list)
        for each in pods:
            by_group[each.group].append(each)
        seen = {
            name: await self._see(each, by_group[name])
            for each in deployments
            if (name := each["metadata"]["labels"][GROUP]) in self._groups
        }
        self._told &= {each.failure_id for each in pods} | {
            found[1] for each in deployments if (found := creation_failure(each))
        }
        return seen

    async def _warned(self, pods: Sequence[Pod]) -> list[Pod]:
        """Returns the pods with what those lack whose containers are being created."""
        now = asyncio.get_running_loop().time()
        if now >= self._warnings_due and any(each.doing for each in pods):
            self._warnings_due = now + _WARNINGS_SECONDS
            fields = "type=Warning,involvedObject.kind=Pod"
            with contextlib.suppress(EngineError):  # a farm that may not read events does without
                self._warnings = newest_warnings(await self._api.list("event", fields=fields))
        return [warned(each, self._warnings.get(each.name, "")) for each in pods]

    async def _prepare(self, deployments: Iterable[Mapping[str, Any]]) -> None:
        """Deletes what is left of other groups, and gives changed groups their new settings.

        Once, at the start: an older gateway must not take back what a newer one changed.
        """
        for each in deployments:
            about = each["metadata"]
            group = self._groups.get(about["labels"][GROUP])
            if group is None:
                await self._api.delete("deployment", about["name"])
            elif about.get("annotations", {}).get(DIGEST) != digest_of(group):
                changed = deployment(self._farm, group, each["spec"].get("replicas", 0))
                await self._api.replace("deployment", about["name"], changed)
        loop = asyncio.get_running_loop()
        self._api.watch(self._selector, lambda: loop.call_soon_threadsafe(self._changed.set))
        self._is_prepared = True

    async def _see(self, found: Mapping[str, Any], pods: Sequence[Pod]) -> Observed:
        """Returns what there is of a group, after what cannot run was removed."""
        group = self._groups[found["metadata"]["labels"][GROUP]]
        failures = [each.failure for each in pods if each.failure and self._is_new(each.failure_id)]
        running = [each for each in pods if each.runs]
        hopeless = [each for each in pods if each.is_hopeless and not each.is_chosen]
        replicas = found["spec"].get("replicas", 0)
        missing = replicas - len(running) - len(hopeless)
        refused = creation_failure(found)
        if refused is not None and missing > 0:
            failures += [refused[0]] if self._is_new(refused[1]) else []
            await self._set(group, 0, missing)
            missing = 0
        await self._remove(group, hopeless)
        await self._remove_left(found, pods)
        for each in pods:
            if each.has_failed and not each.is_ending:
                await self._api.delete("pod", each.name)
        return Observed(
            frozenset([each.name for each in running] + _unborn(found, missing)),
            next((each.doing for each in running if each.doing), ""),
            next((each.lacking for each in running if each.lacking), ""),
            failures,
        )

    def _is_new(self, failure_id: str) -> bool:
        """Returns whether a failure was not told before."""
        is_new = failure_id not in self._told
        self._told.add(failure_id)
        return is_new

    async def _remove(self, group: GroupConfig, hopeless: Iterable[Pod]) -> None:
        """Removes pods that cannot run, and does not have them replaced: their group decides."""
        chosen = [each for each in hopeless if await self._choose(each.name)]
        if chosen:
            await self._set(group, 0, len(chosen))
        for each in chosen:
            await self._api.delete("pod", each.name)

    async def _remove_left(self, found: Mapping[str, Any], pods: Iterable[Pod]) -> None:
        """Removes chosen pods in whose place Kubernetes removed another, such as one that was not ready yet."""
        status = found.get("status", {})
        settled = status.get("observedGeneration") == found["metadata"]["generation"]
        if settled and status.get("replicas", 0) <= found["spec"].get("replicas", 0):
            for each in pods:
                if each.is_chosen and not each.is_ending:
                    await self._api.delete("pod", each.name)

    async def stop(self) -> None:
        """Ends the watch. Servers go on, for the gateway that comes next (see the file's docstring)."""
        self._api.close()


def _unborn(found: Mapping[str, Any], count: int) -> list[str]:
    """Returns names for pods that Kubernetes has not created yet, so that they are not ordered again."""
    name = found["metadata"]["name"]
    return [f"{name}-to-come-{number}" for number in range(count)]
