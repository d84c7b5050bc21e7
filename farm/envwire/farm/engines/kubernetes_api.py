"""The few calls of Kubernetes' API that a farm makes, each with a deadline, and its refusals as failures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind

#: Seconds for one call.
_CALL_SECONDS = 10
#: Seconds of one watch, and between two.
_WATCH_SECONDS, _PAUSE_SECONDS = 60, 1.0
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_STALE = (404, 409)


class StaleError(Exception):
    """An object is gone, or there already, or somebody else changed it first: look again."""


class KubernetesApi:
    """The API, in the namespace of the kubeconfig's context, or of the pod in which the farm runs.

    Raises:
        OSError: The package `kubernetes` is not installed.
    """

    def __init__(self) -> None:
        try:
            self._package = import_module("kubernetes")
        except ModuleNotFoundError:
            raise OSError(
                "--on kubernetes takes the package kubernetes: pip install 'envwire[kubernetes]'"
            ) from None
        self.namespace = ""
        self._apps: Any = None
        self._core: Any = None
        self._ended = threading.Event()
        self._lock = threading.Lock()

    async def list(self, what: str, selector: str = "", fields: str = "") -> list[dict[str, Any]]:
        """Returns the objects with some labels and fields: "deployment", "pod" or "event"."""
        selectors = {"label_selector": selector, "field_selector": fields}
        found = await self._call(what, "list_namespaced_", **selectors)
        return found["items"]  # type: ignore[no-any-return]

    async def create(self, what: str, body: Mapping[str, Any]) -> None:
        """Creates an object."""
        await self._call(what, "create_namespaced_", body=body)

    async def replace(self, what: str, name: str, body: Mapping[str, Any]) -> None:
        """Replaces an object; a conflict if the body has a version that is not the newest."""
        await self._call(what, "replace_namespaced_", name=name, body=body)

    async def read(self, what: str, name: str) -> Any:
        """Returns an object."""
        return await self._call(what, "read_namespaced_", name=name)

    async def patch(self, what: str, name: str, body: Mapping[str, Any]) -> None:
        """Changes a part of an object; a conflict if the body has a version that is not the newest."""
        await self._call(what, "patch_namespaced_", name=name, body=body)

    async def delete(self, what: str, name: str) -> None:
        """Deletes an object, unless it is gone."""
        with contextlib.suppress(StaleError):
            await self._call(what, "delete_namespaced_", name=name)

    async def _call(self, what: str, verb: str, **arguments: Any) -> Any:
        """Calls the API in a thread.

        Raises:
            EngineError: It does not answer, or refuses.
            StaleError: There is no such object, or another gateway changed it first.
        """
        return await asyncio.to_thread(self._call_here, what, verb, arguments)

    def _call_here(self, what: str, verb: str, arguments: Mapping[str, Any]) -> Any:
        errors = self._package.client.exceptions
        try:
            self._connect()
            api = self._core if what in ("pod", "event") else self._apps
            answer = getattr(api, verb + what)(
                **arguments,
                namespace=self.namespace,
                _preload_content=False,
                _request_timeout=_CALL_SECONDS,
            )
            return json.loads(answer.data)
        except errors.ApiException as error:
            if error.status in _STALE and verb != "list_namespaced_":
                raise StaleError(str(error.status)) from error
            raise EngineError(_failure_of(error)) from error
        except self._package.config.ConfigException as error:
            text = f"no cluster is configured: {error}; set KUBECONFIG, or run the farm in a pod"
            raise EngineError(Failure(Kind.SETTINGS, text)) from error
        except Exception as error:  # urllib3's, which the package does not map
            text = f"the Kubernetes API does not answer: {error}"
            raise EngineError(Failure(Kind.ENGINE, text)) from error

    def _connect(self) -> None:
        with self._lock:
            if self._core is not None:
                return
            package = self._package
            settings = package.client.Configuration()
            self.namespace = _configure(package, settings)
            settings.retries = False  # the farm tries again, and says so
            connection = package.client.ApiClient(settings)
            self._apps = package.client.AppsV1Api(connection)
            self._core = package.client.CoreV1Api(connection)

    def watch(self, selector: str, changed: Callable[[], object]) -> None:
        """Calls back, from a thread, whenever a pod with some labels changes, until `close`.

        An engine looks every half second all the same, so a watch that breaks, or is forbidden, only delays.
        """
        threading.Thread(
            target=self._watch, args=(selector, changed), name="pods", daemon=True
        ).start()

    def _watch(self, selector: str, changed: Callable[[], object]) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(Exception):  # the looks say what is wrong
                self._watch_once(selector, changed)
            self._ended.wait(_PAUSE_SECONDS)

    def _watch_once(self, selector: str, changed: Callable[[], object]) -> None:
        self._connect()
        events = self._package.watch.Watch().stream(
            self._core.list_namespaced_pod,
            self.namespace,
            label_selector=selector,
            timeout_seconds=_WATCH_SECONDS,
            _request_timeout=_WATCH_SECONDS + _CALL_SECONDS,
        )
        for _ in events:
            if self._ended.is_set():
                return
            changed()

    def close(self) -> None:
        """Ends the watch, as soon as it has something to say."""
        self._ended.set()


def _configure(package: Any, settings: Any) -> str:
    """Takes over the kubeconfig, or what a pod finds; returns the namespace.

    Raises:
        ConfigException: There is none, or it is invalid.
    """
    if "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
        package.config.load_incluster_config(client_configuration=settings)
        return _NAMESPACE_FILE.read_text("utf-8")
    file = os.environ.get("KUBECONFIG")
    package.config.load_kube_config(file, client_configuration=settings)
    _, active = package.config.list_kube_config_contexts(file)
    return str(active["context"].get("namespace", "default"))


def _failure_of(error: Any) -> Failure:
    """Returns the failure of a call that the API refused: it names the permission that is missing."""
    try:
        text = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        text = str(error.reason or error)
    if error.status in (401, 403):
        return Failure(Kind.PERMISSION, f"Kubernetes refuses: {text}")
    kind = Kind.SETTINGS if error.status in (400, 422) else Kind.ENGINE
    return Failure(kind, f"Kubernetes answers {error.status}: {text}")
