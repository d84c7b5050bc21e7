"""Virtual environments with the packages of a group, made when its first server starts and kept for later farms."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind

#: What processes of environments need beside the packages; the versions that docs/on-demand.md names.
_NEEDED = ("numpy>=1.26", "protobuf>=6.31.1")
_INSTALL_SECONDS = 1800.0
_LOCK_PAUSE_SECONDS = 0.1
#: The file that is written last: without it an environment is half made.
_DONE = "envwire-complete"
#: Characters of a command's output in an error.
_SHOWN = 400


def environments_folder() -> Path:
    """Returns the folder of the virtual environments."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "envwire", "packages")


async def interpreter_with(packages: Sequence[str]) -> str:
    """Returns the interpreter of a virtual environment that has some packages, which is made if there is none.

    Args:
        packages: What pip installs: names, with versions or without, or paths of wheels.

    Raises:
        EngineError: They cannot be installed; the message has the end of pip's output.
    """
    named = "\n".join([sys.version, *packages])
    folder = environments_folder() / hashlib.sha256(named.encode()).hexdigest()[:16]
    python = str(folder / "bin" / "python")
    if (folder / _DONE).exists():
        return python
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        async with _alone(folder.with_suffix(".lock")):
            if not (folder / _DONE).exists():  # else another farm made it meanwhile
                await _run(sys.executable, "-m", "venv", "--clear", str(folder))
                pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
                await _run(*pip, "--", *packages, *_NEEDED)
                (folder / _DONE).touch()
    except OSError as error:
        raise EngineError(Failure(Kind.PACKAGES, str(error))) from error
    return python


@contextlib.asynccontextmanager
async def _alone(path: Path) -> AsyncGenerator[None]:
    """Waits until no other farm of this machine makes the same environment."""
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOCK_PAUSE_SECONDS)
        yield


async def _run(*command: str) -> None:
    """Runs a command, which ends with this farm.

    Raises:
        EngineError: It fails.
        OSError: It cannot be started.
    """
    process = subprocess.Popen(  # noqa: S603 - our own command, with the operator's packages
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = await asyncio.wait_for(asyncio.to_thread(process.communicate), _INSTALL_SECONDS)
    except asyncio.TimeoutError:
        said = f"no end within {_INSTALL_SECONDS:g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if process.wait():
        raise EngineError(Failure(Kind.PACKAGES, " ".join(said.split())[-_SHOWN:]))
