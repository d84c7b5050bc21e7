"""Malicious environments, and environments that are slow enough for a malicious client. Registered on import.

Each writes down that it was made, so that a test sees what was made and never answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import envwire.envs as gym
from envwire.admin.v1 import admin_pb2
from envwire.server._worker.confining.control_groups import own_group

#: Where traces are left; see `ledger.MARK`.
_DIRECTORY = "ENVWIRE_ADVERSARY"
#: Name of a pipe there, which a test makes for those that no look at the list of processes would find.
ALIVE = "alive"


def leave_trace(name: str, content: Any) -> None:
    """Appends a line to a file that the tests read."""
    with Path(os.environ[_DIRECTORY], name).open("a") as file:
        file.write(json.dumps(content) + "\n")


class Hostile(gym.Env[Any, Any]):
    """Base class: an action does something, and the observation identifies the environment."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = action_space = gym.spaces.Discrete(2**31)
    name = 0

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        self.render_mode = render_mode
        leave_trace("made", [type(self).__name__, sorted(kwargs)])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return self.name, {"pid": os.getpid()}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return self.name, 0.0, False, False, {"did": self.act(action)}

    def act(self, action: Any) -> Any:
        """Performs an action, and returns a result for the client."""


class Sleeper(Hostile):
    """Says that it sleeps, and does so for as many milliseconds as an action says."""

    name = 1

    def act(self, action: int) -> None:
        leave_trace("naps", action)
        time.sleep(action / 1000)


class Flooder(Hostile):
    """Answers each step with as many bytes as an action says."""

    observation_space = gym.spaces.Box(0, 255, (1,), np.uint8)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.ones(action, np.uint8), 0.0, False, False, {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        _, info = super().reset(seed=seed)
        return np.ones(1, np.uint8), info


class Warner(Hostile):
    """Warns about its client's data, and fails before the warning is sent."""

    def act(self, action: int) -> None:
        warnings.warn(f"the client played {action}", stacklevel=1)
        if action:
            raise RuntimeError("it fails")


class Descriptors(Hostile):
    """Lays hands on the memory files that its process has open."""

    def act(self, action: str) -> int:
        files = list(_memory_files())
        for file in files:
            with contextlib.suppress(OSError):
                getattr(self, "_" + action)(file)
        time.sleep(0 if action == "scribble" else 1)  # the front looks a few times a second
        return len(files)

    def _shorten(self, file: int) -> None:
        os.ftruncate(file, 0)

    def _punch(self, file: int) -> None:
        os.ftruncate(file, 1)
        os.ftruncate(file, 2**20)

    def _scribble(self, file: int) -> None:
        """Writes ones all over it, again and again."""
        threading.Thread(target=_scribble, args=(os.dup(file),), daemon=True).start()


def _memory_files() -> Iterator[int]:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "memfd:" in os.readlink(f"/proc/self/fd/{name}"):
                yield int(name)


def _scribble(file: int) -> None:
    while True:
        os.pwrite(file, b"\x01" * os.fstat(file).st_size, 0)
        time.sleep(0.02)


class Speaker(Hostile):
    """Writes bytes of one kind into every socket of its process, again and again while it sleeps."""

    def act(self, action: str) -> int:
        said = {"noise": os.urandom(2**16), "zeros": bytes(2**16), "ones": b"\xff" * 2**16}[action]
        sockets = list(_sockets())
        for number in sockets:
            with contextlib.suppress(OSError):
                socket.socket(fileno=os.dup(number)).send(said, socket.MSG_DONTWAIT)
        time.sleep(1)
        return len(sockets)


def _sockets() -> Iterator[int]:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if "socket:" in os.readlink(f"/proc/self/fd/{name}"):
                yield int(name)


class Sender(Hostile):
    """Sends descriptors that nobody receives, until the kernel lets its user send no more; returns what it said."""

    def act(self, action: Any) -> str:
        self._held: list[socket.socket] = []
        descriptors = [0] * 253  # as many as fit into a message
        while True:
            ends = socket.socketpair()
            self._held.extend(ends)
            ends[0].setblocking(False)
            try:
                while True:
                    socket.send_fds(ends[0], [b"x"], descriptors)
            except BlockingIOError:
                continue
            except OSError as error:
                return str(error)


class Escaper(Hostile):
    """Starts processes that try to outlive it, or makes its own hard to end; then hangs, if the action says so."""

    def act(self, action: str) -> None:
        way, _, then = action.partition(" and ")
        getattr(self, "_" + way.replace(" ", "_"))()
        leave_trace("escapes", way)
        if then:
            time.sleep(600)

    def _launch_everything(self) -> None:
        self._launch_in_a_session()
        self._launch_twice()
        self._leave_an_orphan()

    def _launch_in_a_session(self) -> None:
        """As launchers of simulators do."""
        subprocess.Popen(["sleep", "600"], start_new_session=True)

    def _launch_twice(self) -> None:
        """A launcher in its own process session, and its child in another one."""
        subprocess.Popen(["sh", "-c", "setsid sleep 600 & sleep 600"], start_new_session=True)

    def _leave_an_orphan(self) -> None:
        """The launcher is gone before anybody asks."""
        launcher = ["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &"]
        subprocess.run(launcher, check=True, start_new_session=True)

    def _change_its_group(self) -> None:
        with contextlib.suppress(OSError):
            os.setsid()
        child = os.fork()
        if not child:  # a group to go to
            os.setpgid(0, 0)
            time.sleep(600)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        os.setpgid(0, child)

    def _fork_without_end(self) -> None:
        """Each process lives for a millisecond, and leaves another one in a session of its own."""
        if os.fork():
            return
        os.open(Path(os.environ[_DIRECTORY], ALIVE), os.O_WRONLY)  # all of them have it open
        while True:
            os.setsid()
            time.sleep(0.001)
            if os.fork():
                os._exit(0)

    def _leave_its_control_group(self) -> None:
        """Moves to the parent control group, if it can, together with its children."""
        own = own_group() or Path()
        for group in own.parents[:3]:
            with contextlib.suppress(OSError):
                (group / "cgroup.procs").write_text("0")
                leave_trace("left", str(group))
        self._launch_everything()

    def _ignore_signals(self) -> None:
        for number in (signal.SIGIO, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


class Insider(Hostile):
    """Asks its own server for what operators ask for."""

    def act(self, action: str) -> None:
        target, method, session_id = action.split()
        settings = {"session_id": session_id} if method == "EndSession" else {}
        request = getattr(admin_pb2, f"{method}Request")(**settings)
        import grpc  # it does not survive the fork of a session's process

        from tests.adversary.client import refused

        with grpc.insecure_channel(target) as channel:
            ask: Any = channel.unary_unary(f"/envwire.admin.v1.AdminService/{method}")
            try:
                ask(request.SerializeToString(), timeout=10.0)
            except grpc.RpcError as error:
                leave_trace("asked", refused(error).reason)
            else:
                leave_trace("asked", "answered")


class Keeper(Hostile):
    """Keeps states of 64 MiB, which take memory only when they are copied."""

    size = 2**26

    def save_state(self) -> Any:
        return np.zeros(self.size, np.uint8)

    def restore_state(self, state: Any) -> None:
        pass


class LightKeeper(Keeper):
    """Keeps states of a byte."""

    size = 1


class Hoarder(gym.Wrapper[Any, Any, Any, Any]):
    """Holds 64 MiB around an environment whose states are small."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(LightKeeper(**kwargs))
        self.frames = np.zeros(2**26, np.uint8)


#: Sets the title of a terminal, clears it, asks it to type something, in 7 and 8 bits, and rings.
TAKES_THE_TERMINAL = "\x1b]0;owned\x07\x1b[2J\x1b[6n\x9b2J\x1b]52;c;cm0gLXJm\x1b\\ \u202egpj\r"


class Screenwriter(Hostile):
    """Writes to the operator's terminal, wherever its text gets there.

    Args:
        how: "raise", "end" its process after printing, or "pipe" for an exception that says that a pipe is closed.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 30}

    def __init__(self, how: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._how = how

    def act(self, action: Any) -> Any:
        print("\x1b[31mprinted", TAKES_THE_TERMINAL, flush=True)
        if self._how == "raise":
            raise RuntimeError("[red]raised[/blue] " + TAKES_THE_TERMINAL)
        if self._how == "pipe":
            raise BrokenPipeError(32, "the simulator has left")
        if self._how == "end":
            os._exit(3)

    def render(self) -> Any:
        return "\x1b[31mdrawn\n" + TAKES_THE_TERMINAL


class Forbidden(Hostile):
    """Not served by any test."""

    name = 666


def _register(env: type[gym.Env[Any, Any]]) -> None:
    gym.register(
        id=f"adversary/{env.__name__}-v0",
        entry_point=f"{__name__}:{env.__name__}",
        disable_env_checker=True,
    )


for _env in (
    *(Sleeper, Flooder, Warner, Descriptors, Speaker, Sender, Escaper, Insider),
    *(Keeper, Hoarder, Forbidden, Screenwriter),
):
    _register(_env)
