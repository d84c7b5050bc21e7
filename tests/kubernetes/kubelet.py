"""A node of a cluster: it runs pods as processes of this machine and reports on them, as a kubelet does.

Its pods share the machine's network, so they get free ports of loopback instead of those that they ask for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from tests.farm.scene import free_port
from tests.kubernetes.control_plane import Api

#: The image that the node has; it cannot pull others.
IMAGE = "envwire-test"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#: Pause before the second restart of a container, in seconds.
_PAUSE = 10.0


class Container:
    """The container of a pod."""

    def __init__(self, pod: Mapping[str, Any]) -> None:
        self.name: str = pod["metadata"]["name"]
        self.uid: str = pod["metadata"]["uid"]
        self.namespace: str = pod["metadata"]["namespace"]
        volumes = pod["spec"]["volumes"]
        #: The Secrets that it waits for.
        self.lacking = {each["secret"]["secretName"] for each in volumes if "secret" in each}
        [self._spec] = pod["spec"]["containers"]
        self._http = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the pod
        self._restarts = 0
        self._last: dict[str, Any] = {}
        self._not_before = 0.0
        self.told: Any = None

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def _environment(self) -> dict[str, str]:
        given = {each["name"]: each.get("value", self.name) for each in self._spec["env"]}
        given = {
            name: value.replace("$(POD_NAME)", self.name).replace("$$", "$")
            for name, value in given.items()
        }
        own = {"HOST": "127.0.0.1", "PORT": "0", "DIRECT_PORT": "0", "HTTP_PORT": str(self._http)}
        return {**os.environ, **given, **{f"ENVWIRE_{name}": text for name, text in own.items()}}

    def step(self) -> dict[str, Any]:
        """Does what is due, and returns the pod's status."""
        if self._spec["image"] != IMAGE:
            text = f'failed to pull image "{self._spec["image"]}": not found'
            return self._status({"waiting": {"reason": "ErrImagePull", "message": text}})
        if self.lacking:
            return self._status({"waiting": {"reason": "ContainerCreating"}})
        if self._process is not None and self._process.poll() is not None:
            self._end(self._process.returncode)
        if self._process is None and time.monotonic() < self._not_before:
            return self._status({"waiting": {"reason": "CrashLoopBackOff"}})
        if self._process is None:
            command = [sys.executable, "-m", "envwire", *self._spec["args"]]
            self._process = subprocess.Popen(
                command,
                env=self._environment(),
                stdout=self._output,
                stderr=self._output,
                start_new_session=True,
            )
        return self._status({"running": {}})

    def _end(self, status: int) -> None:
        self._output.seek(0)
        said = self._output.read().decode(errors="replace")[-2000:]
        self._last = {
            "terminated": {
                "exitCode": 128 - status if status < 0 else status,
                "reason": "Error" if status else "Completed",
                "message": said if status else "",
                "finishedAt": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "containerID": f"test://{self.name}-{self._restarts}",
            }
        }
        self._process = None
        self._restarts += 1
        self._not_before = time.monotonic() + (_PAUSE if self._restarts > 1 else 0.0)

    def _status(self, state: dict[str, Any]) -> dict[str, Any]:
        is_ready = "running" in state and self._is_ready()
        ready = "True" if is_ready else "False"
        container = {
            "name": "server",
            "image": self._spec["image"],
            "imageID": "",
            "ready": is_ready,
            "restartCount": self._restarts,
            "state": state,
            "lastState": self._last,
        }
        return {
            "phase": "Running" if "running" in state or self._restarts else "Pending",
            "podIP": "127.0.0.1",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": ready},
                {"type": "ContainersReady", "status": ready},
            ],
            "containerStatuses": [container],
        }

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/readyz", timeout=5):
                return True
        except OSError:
            return False

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def stop(self) -> None:
        """Tells it to end."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """Ends it, with all of its processes, and forgets its output."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
        self._output.close()


class Node:
    """A node, with a thread that does a kubelet's work.

    Args:
        api: The API server.
        name: Its name.
        cpus: Its processors.
    """

    def __init__(self, api: Api, name: str, cpus: int = 4) -> None:
        self._api = api
        self.name = name
        self._containers: dict[str, Container] = {}
        self._stopping: set[str] = set()
        self._ended = threading.Event()
        room = {"cpu": str(cpus), "memory": "16Gi", "pods": "20"}
        body = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
        api.call("POST", "/api/v1/nodes", body)
        self._report = {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        }
        lease = {"holderIdentity": name, "leaseDurationSeconds": 6, "renewTime": _now()}
        api.call("POST", _LEASES, {"metadata": {"name": name}, "spec": lease})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            with contextlib.suppress(urllib.error.URLError, TimeoutError, ConnectionError):
                self._beat()
                self._look()

    def _beat(self) -> None:
        self._api.patch(f"/api/v1/nodes/{self.name}/status", {"status": self._report})
        self._api.patch(f"{_LEASES}/{self.name}", {"spec": {"renewTime": _now()}})

    def _look(self) -> None:
        listed = self._api.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}")
        pods = {each["metadata"]["name"]: each for each in listed["items"]}
        for name, pod in pods.items():
            if name not in self._containers:
                self._containers[name] = Container(pod)
            each = self._containers[name]
            if "deletionTimestamp" in pod["metadata"]:
                self._stop(each)
                continue
            self._mount(each)
            status = each.step()
            if status != each.told:
                self._api.patch(f"{each.path}/status", {"status": status})
                each.told = status

    def _mount(self, container: Container) -> None:
        """Mounts the Secrets that are there, and warns once of those that are not."""
        for secret in sorted(container.lacking):
            try:
                self._api.get(f"/api/v1/namespaces/{container.namespace}/secrets/{secret}")
                container.lacking.discard(secret)
            except urllib.error.HTTPError as error:
                if error.code == 404 and container.told is None:
                    self._warn(container, f'MountVolume.SetUp failed: secret "{secret}" not found')

    def _warn(self, container: Container, text: str) -> None:
        pod = {"kind": "Pod", "name": container.name, "namespace": container.namespace}
        event = {
            "metadata": {"generateName": container.name},
            "involvedObject": {**pod, "uid": container.uid},
            "type": "Warning",
            "reason": "FailedMount",
            "message": text,
            "lastTimestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self._api.call("POST", f"/api/v1/namespaces/{container.namespace}/events", event)

    def _stop(self, container: Container) -> None:
        if container.name not in self._stopping:
            self._stopping.add(container.name)
            container.stop()
        if container.has_ended:
            self._api.call("DELETE", container.path, {"gracePeriodSeconds": 0})
            self._containers.pop(container.name).kill()

    def vanish(self) -> None:
        """Ends it all of a sudden, as a machine without power: nothing is reported any more."""
        self._ended.set()
        self._thread.join()
        for each in self._containers.values():
            each.kill()


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
