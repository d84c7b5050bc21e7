"""What a pod of a group does, or why it does not run, from the status that Kubernetes reports. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from envwire.farm.gateway.groups.failures import Failure, Kind

#: Annotation of pods that the farm chose to stop; Kubernetes removes those of the lowest cost first.
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
CHOSEN = "-1000"
#: Why a container waits, where Kubernetes would try for ever at growing intervals. The group has its own.
_HOPELESS = {
    "ErrImagePull": Kind.IMAGE,
    "ImagePullBackOff": Kind.IMAGE,
    "ErrImageNeverPull": Kind.IMAGE,
    "ImageInspectError": Kind.IMAGE,
    "InvalidImageName": Kind.IMAGE,
    "RegistryUnavailable": Kind.IMAGE,
    "SignatureValidationFailed": Kind.IMAGE,
    "CreateContainerConfigError": Kind.SETTINGS,
    "CreateContainerError": Kind.NOT_STARTED,
    "RunContainerError": Kind.NOT_STARTED,
}
_CREATING = {"ContainerCreating": "its container is being created, after its image was pulled"}
_CRASHING = "CrashLoopBackOff"
_NOTHING: Mapping[str, Any] = {}
#: Characters of a container's output in an error.
_SHOWN = 300


class Pod(NamedTuple):
    """A pod.

    Attributes:
        name: Its name: the server's label "instance".
        group: Its group.
        version: Its version, by which a change is refused that another gateway has made already.
        is_chosen: Whether the farm chose it to stop.
        is_ending: Whether it is being removed.
        has_failed: Whether Kubernetes gave it up, and replaces it: it was evicted, or its node refused it.
        doing: What Kubernetes does before it runs; empty for nothing.
        lacking: What it lacks; empty for nothing.
        failure: What went wrong last; None for nothing.
        failure_id: Tells this failure from an earlier one of the pod.
        is_hopeless: Whether Kubernetes would try again and again. The farm removes it: its group decides when another
            one is tried.
    """

    name: str
    group: str
    version: str
    is_chosen: bool
    is_ending: bool
    has_failed: bool
    doing: str
    lacking: str
    failure: Failure | None
    failure_id: str
    is_hopeless: bool

    @property
    def runs(self) -> bool:
        """Whether it is a server of its group, running or on its way."""
        return not (self.is_chosen or self.is_ending or self.has_failed or self.is_hopeless)


def read_pod(pod: Mapping[str, Any], group_label: str) -> Pod:
    """Returns what the API's object says about a pod.

    Args:
        pod: The object.
        group_label: The label that names its group.
    """
    about, status = pod["metadata"], pod.get("status", _NOTHING)
    container: Mapping[str, Any] = next(iter(status.get("containerStatuses") or ()), _NOTHING)
    waiting: Mapping[str, Any] = container.get("state", _NOTHING).get("waiting") or _NOTHING
    reason = waiting.get("reason", "")
    removed = "deletionTimestamp" in about
    ended = _terminated(container).get("finishedAt", "")
    return Pod(
        name=about["name"],
        group=about["labels"][group_label],
        version=about["resourceVersion"],
        is_chosen=(about.get("annotations") or _NOTHING).get(DELETION_COST) == CHOSEN,
        is_ending=removed,
        has_failed=status.get("phase") == "Failed",
        doing=_CREATING.get(reason, ""),
        lacking=_lacking(status),
        failure=_failure(about["name"], status, container, waiting, removed=removed),
        failure_id=f"{about['uid']} {ended} {_HOPELESS.get(reason, '')} {removed}",
        is_hopeless=not removed and (reason in _HOPELESS or reason == _CRASHING),
    )


def newest_warnings(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns what Kubernetes warned of last, by the name of the pod."""
    told = sorted(events, key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")
    return {each["involvedObject"]["name"]: _end(each.get("message", "")) for each in told}


def warned(pod: Pod, warning: str) -> Pod:
    """Returns a pod with what it lacks, such as a Secret, while its container is being created."""
    if not pod.doing or not warning:
        return pod
    return pod._replace(doing="", lacking=f"its container is not created: {warning}")


def _lacking(status: Mapping[str, Any]) -> str:
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return ""
    return f"no node has room for it: {_end(scheduled.get('message', ''))}"


def _failure(
    name: str,
    status: Mapping[str, Any],
    container: Mapping[str, Any],
    waiting: Mapping[str, Any],
    *,
    removed: bool,
) -> Failure | None:
    if removed:
        return _disruption(name, status)
    if kind := _HOPELESS.get(waiting.get("reason", "")):
        return Failure(kind, f"{name}: {waiting['reason']}: {_end(waiting.get('message', ''))}")
    if status.get("phase") == "Failed" and status.get("reason"):
        return Failure(Kind.ENDED, f"{name}: {status['reason']}: {_end(status.get('message', ''))}")
    ended = _terminated(container)
    if ended.get("reason") == "OOMKilled":
        return Failure(Kind.MEMORY, f"{name} used all of its memory; raise memory of its group")
    if ended.get("exitCode"):
        why = _end(ended.get("message", "")) or ended.get("reason", "")
        return Failure(
            Kind.ENDED, f"{name} ended by itself, with status {ended['exitCode']}: {why}"
        )
    return None


def _terminated(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns how the container ended last; empty if it did not."""
    states = (container.get("state", _NOTHING), container.get("lastState", _NOTHING))
    return next((each["terminated"] for each in states if each.get("terminated")), _NOTHING)


def _disruption(name: str, status: Mapping[str, Any]) -> Failure | None:
    """Returns why Kubernetes removes a pod; None if somebody else does."""
    disrupted = _condition(status, "DisruptionTarget")
    if disrupted.get("status") != "True":
        return None
    why = f"{disrupted.get('reason', '')}: {disrupted.get('message', '')}"
    return Failure(Kind.ENDED, f"Kubernetes removed {name}: {_end(why)}")


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = status.get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), _NOTHING)


def _end(text: str) -> str:
    return " ".join(text.split())[-_SHOWN:]


def creation_failure(deployment: Mapping[str, Any]) -> tuple[Failure, str] | None:
    """Returns why Kubernetes creates no more pods of a Deployment, and what tells this failure from earlier ones."""
    refused = _condition(deployment.get("status", {}), "ReplicaFailure")
    if refused.get("status") != "True":
        return None
    text = _end(refused.get("message", ""))
    kind = Kind.PERMISSION if "forbidden" in text else Kind.NOT_STARTED
    return Failure(kind, text), f"{deployment['metadata']['uid']} {refused.get('lastUpdateTime')}"
