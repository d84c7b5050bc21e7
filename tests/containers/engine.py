"""Containers of the image, on a network of their own, by the engine's command line."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

IMAGE = os.environ.get("ENVWIRE_IMAGE", "envwire-server")
SECONDS = 60.0
#: How the container's server serves; `--insecure` since the network is the test's own.
SERVE = ("serve", "CartPole-v1", "--host", "0.0.0.0", "--insecure", "--direct-port", "50052")


def docker(*arguments: str) -> str:
    """Runs a docker command and returns its output."""
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, timeout=SECONDS * 2, check=False
    )
    assert not done.returncode, f"docker {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def missing() -> str:
    """Returns why containers cannot be run here; nothing when they can."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    asked = subprocess.run(
        ["docker", "image", "inspect", IMAGE], capture_output=True, timeout=SECONDS, check=False
    )
    return f"no engine answers, or it has no image {IMAGE}: run `make image`" * bool(
        asked.returncode
    )


class Network:
    """A network and the containers on it, which go with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._subnet = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}"
        self._containers: list[str] = []
        docker("network", "create", "--subnet", f"{self._subnet}.0/24", name)

    def run(self, *command: str, options: tuple[str, ...] = ()) -> str:
        """Starts a container, and returns its address, which it keeps when it is started again."""
        address = f"{self._subnet}.{len(self._containers) + 10}"
        name = f"{self.name}-{len(self._containers)}"
        self._containers.append(name)
        hardened = (
            "--read-only",
            "--tmpfs",
            "/tmp",
            "--cap-drop",
            "ALL",
            "--health-interval",
            "1s",
        )
        docker(
            *("run", "--detach", "--name", name, "--network", self.name, "--ip", address),
            *(*hardened, *options, IMAGE, *command),
        )
        return address

    def container(self, address: str) -> str:
        """Returns the name of the container at an address."""
        return self._containers[int(address.rpartition(".")[2]) - 10]

    def await_healthy(self) -> None:
        """Waits until the image's own check finds all containers healthy."""

        def healthy() -> bool:
            states = docker("inspect", "--format", "{{.State.Health.Status}}", *self._containers)
            return set(states.split()) == {"healthy"}

        wait_until(healthy)

    def remove(self) -> None:
        """Removes the containers and the network."""
        if self._containers:
            docker("rm", "--force", *self._containers)
        docker("network", "rm", self.name)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """Has a network, until the end of the block."""
    made = Network(f"envwire-test-{os.getpid()}-{secrets.token_hex(3)}")
    try:
        yield made
    finally:
        made.remove()


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{SECONDS:g} s passed"
        time.sleep(0.1)
