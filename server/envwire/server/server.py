"""`Server`: a server in a process of its own, for programs and tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from envwire.server._ipc.child_program import READY, wait_or_kill
from envwire.server._settings.checks import check_system
from envwire.server._settings.setting import check_known
from envwire.server.config import SETTINGS, ServerConfig, freeze_lists

if TYPE_CHECKING:
    from typing_extensions import Self

_START_SECONDS = 120.0
#: Seconds that a server has to stop, beyond the drain time of its sessions.
_STOP_SECONDS = 30.0
#: Defaults for programs, which need no fixed port and stop a server once they are done with it.
_DEFAULTS: dict[str, Any] = {"port": 0, "drain_timeout": 0.0}

_P = ParamSpec("_P")


def _takes_fields_of(
    config: Callable[_P, object], **defaults: Any
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Gives a constructor the parameters of a settings class, for type checkers and for `help`."""

    def decorate(init: Callable[..., None]) -> Callable[Concatenate[Any, _P], None]:
        own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        settings = [
            one.replace(default=defaults.get(one.name, one.default))
            for one in signature(config).parameters.values()
        ]
        init.__signature__ = Signature([own, *settings])  # type: ignore[attr-defined]
        return init

    return decorate


class ServerError(Exception):
    """The server could not start, or ended unexpectedly."""


class Server:
    """A server on this machine that runs for the `with` block, or from `start` to `stop`.

    The server is a separate process, so the program that starts it may fork, use gRPC or hold the interpreter lock. It
    ends with that program, even if the program is killed.

    Args:
        environments: Ids or shell patterns, such as "CartPole-v1" or "ALE/*".
        settings: Further settings (see `ServerConfig`, docs/settings.md). Unlike in `envwire serve`, `port` defaults
            to 0 (any free one), `drain_timeout` to 0, and `sys_path` to this program's.

    Raises:
        ValueError: A setting is unknown or invalid, or settings contradict each other.

    Example:
        >>> with Server(["CartPole-v1"]) as server:
        ...     env = RemoteEnv(server.target, "CartPole-v1")
    """

    @_takes_fields_of(ServerConfig, **_DEFAULTS)
    def __init__(self, environments: Iterable[str], **settings: Any) -> None:
        check_known(settings, [*SETTINGS, "sys_path"])
        sys_path = [path or os.getcwd() for path in sys.path]
        given = {"sys_path": sys_path, **_DEFAULTS, **settings, "environments": environments}
        self._config = ServerConfig(**freeze_lists(given))
        self._process: subprocess.Popen[str] | None = None
        self._target = ""

    @property
    def target(self) -> str:
        """HOST:PORT at which clients reach the server.

        Raises:
            ServerError: The server is not running.
        """
        self._running()
        return self._target

    @property
    def pid(self) -> int:
        """Process id of the server's front."""
        return self._running().pid

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise ServerError("the server is not running; start it with start() or a with block")
        return self._process

    def start(self) -> Self:
        """Starts the server and waits until it serves.

        Raises:
            ServerError: The server could not start; the message says why.
        """
        if self._process is not None:
            raise ServerError("the server is running already")
        try:
            check_system()
        except OSError as error:
            raise ServerError(str(error)) from None
        process = self._process = _new_process()
        patience = self._config.drain_timeout + _STOP_SECONDS
        self._finalizer = weakref.finalize(self, _stop, process, patience)
        try:
            self._target = self._await_ready(process)
        except BaseException:
            self.stop()
            raise
        return self

    def _await_ready(self, process: subprocess.Popen[str]) -> str:
        if process.stdin is None or process.stdout is None:
            raise ServerError("the server's process has no pipes")
        watchdog = threading.Timer(_START_SECONDS, process.kill)
        watchdog.start()
        try:
            process.stdin.write(self._config.to_json() + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
            if said.startswith(READY):
                return said.removeprefix(READY).strip()
            said += process.stdout.read()  # it ends, after printing why
        except BrokenPipeError:
            said = ""
        finally:
            watchdog.cancel()
        raise ServerError(
            said.strip() or "the server ended before it was ready; its output says why"
        )

    def stop(self) -> None:
        """Stops the server and all its processes. Stopping twice is harmless."""
        if self._process is not None:
            self._process = None
            self._finalizer()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _new_process() -> subprocess.Popen[str]:
    """Starts the server's program, which then waits for its settings."""
    return subprocess.Popen(
        [sys.executable, "-m", "envwire.server._server_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _stop(process: subprocess.Popen[str], patience: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    wait_or_kill(process, patience)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
