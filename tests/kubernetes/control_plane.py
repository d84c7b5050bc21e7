"""The control plane of Kubernetes on this machine: etcd, the API server, the controllers and the scheduler."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.farm.scene import free_port

FOLDER = Path(os.environ.get("ENVWIRE_CONTROL_PLANE", "out/control-plane")).absolute()
SECONDS = 120.0
NAMESPACE = "envwire"
MANIFESTS = Path("docker/kubernetes/on-demand")
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_ADMIN = "admin-of-the-test"
#: A node whose heartbeat stops is found out in seconds, instead of a minute.
_CONTROLLERS = (
    "--controllers=deployment-controller,replicaset-controller,serviceaccount-controller,namespace-controller,"
    "garbage-collector-controller,node-lifecycle-controller,taint-eviction-controller,resourcequota-controller,"
    "pod-garbage-collector-controller",
    "--node-monitor-grace-period=20s",
    "--node-monitor-period=1s",
    "--leader-elect=false",
    "--secure-port=0",
)


def missing(*programs: str) -> str:
    """Returns why programs of a control plane cannot run here; nothing when they can."""
    if shutil.which("etcd") is None:
        return "etcd is not installed"
    lacking = [each for each in programs if not (FOLDER / each).exists()]
    return f"no {lacking[0]} in {FOLDER}: run `make test-kubernetes`" if lacking else ""


class Api:
    """The API server, by HTTP.

    Args:
        url: Where it is.
        ca: File of its certificate, which it makes itself.
        token: Whose calls these are.
    """

    def __init__(self, url: str, ca: Path, token: str = _ADMIN) -> None:
        self.url = url
        self.ca = ca
        self._token = token
        self._trust = ssl._create_unverified_context()

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Calls it; raises HTTPError if it refuses."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": kind},
        )
        with urllib.request.urlopen(request, timeout=30, context=self._trust) as answer:
            return json.loads(answer.read() or b"{}")

    def get(self, path: str) -> Any:
        """Returns an object, or a list of them."""
        return self.call("GET", path)

    def patch(self, path: str, body: Any) -> None:
        """Changes a part of an object."""
        self.call("PATCH", path, body, "application/merge-patch+json")

    def kubeconfig(self, path: Path) -> Path:
        """Writes a kubeconfig with which a program makes calls as this one does."""
        cluster = {"server": self.url, "certificate-authority": str(self.ca)}
        context = {"cluster": "test", "user": "test", "namespace": NAMESPACE}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "contexts": [{"name": "test", "context": context}],
            "users": [{"name": "test", "user": {"token": self._token}}],
        }
        path.write_text(json.dumps(config))
        return path


def wait_until(holds: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """Waits until something holds, and returns it."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{seconds:g} s passed"
        time.sleep(0.1)
    return found


def _answers(api: Api) -> bool:
    try:
        return bool(api.get("/readyz?verbose=0") or True)
    except json.JSONDecodeError:
        return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@contextlib.contextmanager
def control_plane(folder: Path, *, controllers: bool = True) -> Iterator[Api]:
    """Runs a control plane, with the farm's namespace and the permissions of the manifests, until the end of the block.

    Args:
        folder: For its files.
        controllers: Whether its controllers and its scheduler run as well, and not the API server alone.
    """
    etcd, peer, port = free_port(), free_port(), free_port()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    (folder / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (folder / "tokens.csv").write_text(f'{_ADMIN},admin,1,"system:masters"\n')
    api = Api(f"https://127.0.0.1:{port}", folder / "apiserver.crt")
    config = api.kubeconfig(folder / "admin.json")
    with contextlib.ExitStack() as stack:

        def start(name: str, *options: str) -> None:
            program = FOLDER / name if name.startswith("kube") else name
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            process = subprocess.Popen([program, *options], stdout=log, stderr=log, cwd=folder)
            stack.callback(process.wait, SECONDS)
            stack.callback(process.kill)

        at, beside = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peer}"
        start(
            *("etcd", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync"),
            *(f"--listen-client-urls={at}", f"--advertise-client-urls={at}"),
            *(f"--listen-peer-urls={beside}", f"--initial-advertise-peer-urls={beside}"),
            f"--initial-cluster=default={beside}",
        )
        start(
            *("kube-apiserver", f"--etcd-servers={at}", f"--secure-port={port}"),
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={folder}"),
            *("--authorization-mode=RBAC", f"--token-auth-file={folder / 'tokens.csv'}"),
            *("--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://test"),
            f"--service-account-key-file={folder / 'key.pem'}",
            f"--service-account-signing-key-file={folder / 'key.pem'}",
        )
        wait_until(lambda: _answers(api))
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        if controllers:
            start(
                *("kube-controller-manager", f"--kubeconfig={config}", *_CONTROLLERS),
                f"--service-account-private-key-file={folder / 'key.pem'}",
            )
            start(
                "kube-scheduler",
                f"--kubeconfig={config}",
                "--leader-elect=false",
                "--secure-port=0",
            )
            wait_until(lambda: api.get(ACCOUNTS)["items"])
        else:
            api.call("POST", ACCOUNTS, {"metadata": {"name": "default"}})
        _permit(api)
        yield api


def _permit(api: Api) -> None:
    """Makes the accounts `gateway`, with the permissions of the manifests, and `nobody`, with none."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
    paths = {
        "ServiceAccount": ACCOUNTS,
        "Role": f"{rbac}/roles",
        "RoleBinding": f"{rbac}/rolebindings",
    }
    for each in yaml.safe_load_all((MANIFESTS / "gateway.yaml").read_text("utf-8")):
        if path := paths.get(each["kind"]):
            for subject in each.get("subjects", ()):
                subject["namespace"] = NAMESPACE  # as kustomize does
            api.call("POST", path, each)
    api.call("POST", ACCOUNTS, {"metadata": {"name": "nobody"}})


def kubeconfig(api: Api, folder: Path, account: str = "gateway") -> str:
    """Returns a kubeconfig with which a farm has the permissions of a service account."""
    asked = api.call("POST", f"{ACCOUNTS}/{account}/token", {"spec": {"expirationSeconds": 3600}})
    mine = Api(api.url, api.ca, asked["status"]["token"])
    return str(mine.kubeconfig(folder / f"{account}.json"))
