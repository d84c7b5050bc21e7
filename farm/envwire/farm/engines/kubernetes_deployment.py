"""The Deployment of a group: what its pods run, may use and may do. No I/O."""

from __future__ import annotations

import hashlib
from typing import Any

from envwire.farm.engines.engine import server_config
from envwire.farm.engines.variables import changed_settings, variables
from envwire.farm.gateway.groups.group_config import GroupConfig

#: Labels of Deployments and pods: the name of the farm, and the group. Pods have no others that select them.
FARM, GROUP = "envwire.farm", "envwire.group"
#: Annotation of Deployments: a digest of the group's settings.
DIGEST = "envwire.settings"
#: Where pods find the files of the group's Secret.
SECRET_FOLDER = "/run/secrets/envwire"  # noqa: S105 - a folder
#: Seconds that a server has to stop, beyond the drain time of its sessions.
_STOP_SECONDS = 20
#: Seconds of the longest start before Kubernetes restarts the container; the farm gives up after `start_timeout`.
_START_SECONDS = 3600
#: Kubernetes replaces this by the pod's name, which is the server's label "instance".
_INSTANCE = "$(POD_NAME)"
_PORTS = {"port": 50051, "direct_port": 50052, "http_port": 50053}
#: Only other pods reach a pod, as far as the network policy lets them: it holds TLS's place here.
_OWN = {"host": "0.0.0.0", "insecure": True, **_PORTS}  # noqa: S104
_HARDENED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def deployment(farm: str, group: GroupConfig, replicas: int) -> dict[str, Any]:
    """Returns the Deployment of a group.

    Args:
        farm: Name of the farm.
        group: The group.
        replicas: Number of pods.
    """
    labels = {FARM: farm, GROUP: group.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": deployment_name(farm, group.name),
            "labels": labels,
            "annotations": {DIGEST: digest_of(group)},
        },
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": labels},
            # Changed settings: servers with the new ones take Makes before old ones drain.
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": _pod(group)},
        },
    }


def deployment_name(farm: str, group: str) -> str:
    """Returns the name of a group's Deployment."""
    return f"{farm}-{group}"


def digest_of(group: GroupConfig) -> str:
    """Returns a digest of a group's settings, by which a farm that starts again finds changed ones."""
    return hashlib.sha256(repr(group).encode()).hexdigest()[:16]


def _pod(group: GroupConfig) -> dict[str, Any]:
    mounts: list[tuple[str, str, dict[str, Any]]] = [("tmp", "/tmp", {"emptyDir": {}})]  # noqa: S108 - inside the container
    if group.secret:
        mounts.append(("secret", SECRET_FOLDER, {"secret": {"secretName": group.secret}}))
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": int(group.server.drain_timeout) + _STOP_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "nodeSelector": dict(each.split("=", 1) for each in group.node_selector),
        "containers": [
            {
                **_container(group),
                "volumeMounts": [
                    {"name": name, "mountPath": path, "readOnly": name == "secret"}
                    for name, path, _ in mounts
                ],
            }
        ],
        "volumes": [{"name": name, **source} for name, _, source in mounts],
    }


def _container(group: GroupConfig) -> dict[str, Any]:
    return {
        "name": "server",
        "image": group.image,
        "args": ["serve"],
        "env": _environment(group),
        "ports": [
            {"name": name.removesuffix("_port"), "containerPort": _PORTS[name]} for name in _PORTS
        ],
        "startupProbe": {**_probe("/livez", 1), "failureThreshold": _START_SECONDS},
        # It must not fail while the server drains, or Kubernetes would kill the server.
        "livenessProbe": _probe("/livez", 10),
        "readinessProbe": _probe("/readyz", 5),
        "resources": _resources(group),
        "securityContext": _HARDENED,
        # The end of its output is in the pod's status, which takes no permission to read logs.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _probe(path: str, period: int) -> dict[str, Any]:
    get = {"path": path, "port": _PORTS["http_port"]}
    return {"httpGet": get, "periodSeconds": period, "timeoutSeconds": 5}


def _environment(group: GroupConfig) -> list[dict[str, Any]]:
    """Returns the settings as variables. Kubernetes replaces $(NAME) in them, and $$ by $."""
    config = server_config(group, _INSTANCE, group.server.join, **_OWN)
    given = variables(changed_settings(config))
    values = {name: value.replace("$", "$$") for name, value in given.items()}
    values["ENVWIRE_LABELS"] = values["ENVWIRE_LABELS"].replace(f"${_INSTANCE}", _INSTANCE)
    named = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    return [named, *({"name": name, "value": value} for name, value in values.items())]


def _resources(group: GroupConfig) -> dict[str, Any]:
    limits = {
        "cpu": f"{group.cpus:g}" if group.cpus else "",
        "memory": str(group.memory or ""),
        "nvidia.com/gpu": str(group.gpu_count or ""),
    }
    given = {name: value for name, value in limits.items() if value}
    return {"requests": given, "limits": given}
