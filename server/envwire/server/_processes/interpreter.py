"""The interpreter that runs environments, the server's own or one that the operator named, and its fingerprint.

Another interpreter has its own packages, but imports this installation's code, so that both ends of a session's link
always run the same version. The path is passed as an argument, because code must not come from a place that an
environment can write to.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path

from envwire.server._processes.forkserver_start import CONFINED_START, PROGRAM, ForkserverError
from envwire.server.config import ServerConfig
from envwire.v1.environment_pb2 import LibraryInfo
from envwire.wire.version import VERSION

#: Oldest versions that environment processes support.
_NEEDED = {"Python": (3, 10), "numpy": (1, 26), "protobuf": (6, 31, 1)}
#: Script that reports an interpreter's versions; runs on any Python.
_REPORT = """
import importlib, json, sys
found = {"Python": sys.version.split()[0]}
packages = []
for name, module in (("numpy", "numpy"), ("protobuf", "google.protobuf")):
    try:
        found[name] = importlib.import_module(module).__version__
    except ImportError:
        found[name] = ""
try:
    from importlib.metadata import distributions
    packages = sorted({"%s==%s" % (each.metadata["Name"], each.version) for each in distributions()})
except ImportError:
    pass
print(json.dumps([found, packages]))
"""
#: Script that runs a program of this code in another interpreter, or without packages.
_RUN = """
import runpy, sys, types
package = sys.modules["envwire"] = types.ModuleType("envwire")
package.__path__, package.__version__ = {path!r}, {version!r}
runpy.run_module({program!r}, run_name="__main__", alter_sys=True)
"""
#: Seconds for the interpreter to report its versions.
_REPORT_SECONDS = 60.0
#: Variables with the operator's secrets: a client's token, and the credentials for a trace collector.
_SECRETS = frozenset(
    {"ENVWIRE_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}
)
#: Value that hides all devices from CUDA and HIP, which read device numbers up to the first invalid one.
_NO_DEVICE = "-1"
_DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_CPU = Path("/proc/cpuinfo")
#: Characters of a fingerprint.
_FINGERPRINT_LENGTH = 16


class Interpreter:
    """The interpreter of the environments of one configuration.

    Args:
        config: The settings.

    Attributes:
        program: Path of its executable.
        packages: Packages of an interpreter that is not the server's own, each as NAME==VERSION; set by `check`.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.program = os.fspath(config.python) or sys.executable
        self.packages: list[str] = []
        self._config = config

    def check(self) -> None:
        """Checks an interpreter that is not the server's own.

        Raises:
            ForkserverError: The interpreter cannot be run, or it or a package is missing or too old.
        """
        if not self._config.python:
            return
        found, self.packages = _report(self.program, self.variables())
        for name, needed in _NEEDED.items():
            if _numbers(found[name]) < needed:
                least = ".".join(map(str, needed))
                has = f"{name} {found[name]}" if found[name] else f"no {name}"
                raise ForkserverError(
                    f"{self.program} has {has}; environments need {name} {least} or newer there"
                )

    def variables(self) -> dict[str, str]:
        """Returns the environment variables of its processes."""
        variables = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        given = dict(item.split("=", 1) for item in self._config.variables)
        if self._config.python:
            for name in ("PYTHONHOME", "PYTHONPATH"):  # for the server's own interpreter
                variables.pop(name, None)
        if devices := self._config.gpus:
            seen = _NO_DEVICE if devices == "none" else devices
            variables |= dict.fromkeys(_DEVICE_VARIABLES, seen) | _rendering(devices)
        return variables | given

    def command(self, confined: bool = False) -> tuple[list[str], dict[str, str]]:
        """Returns the command that starts the fork server, and its environment variables.

        Args:
            confined: Whether it is confined before it starts.
        """
        run = ["-c", _script(PROGRAM)] if self._config.python else ["-m", PROGRAM]
        confining = [sys.executable, "-I", "-S", "-c", _script(CONFINED_START)] if confined else []
        return [*confining, self.program, *run], self.variables()


def _rendering(devices: str) -> dict[str, str]:
    """Returns the variables by which renderers choose a device: EGL counts them all, whatever CUDA sees."""
    first, *_ = devices.split(",")
    if not first.isdecimal():  # "none", or a UUID, which EGL does not know
        return {}
    return {"MUJOCO_EGL_DEVICE_ID": first, "EGL_VISIBLE_DEVICES": devices}


def _script(program: str) -> str:
    path = list(map(os.path.abspath, importlib.import_module("envwire").__path__))
    return _RUN.format(path=path, version=VERSION, program=program)


def _report(program: str, environment: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the versions and the installed packages that an interpreter reports.

    Raises:
        ForkserverError: The program does not run, or is not Python.
    """
    try:
        told = subprocess.run(  # noqa: S603 - the operator's interpreter, our own program
            [program, "-c", _REPORT],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_REPORT_SECONDS,
            check=True,
            env=environment,
        ).stdout
        found, packages = json.loads(told)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ForkserverError(f"{program} does not run as a Python interpreter: {error}") from error
    return found, packages


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the leading numbers of a version: (6, 31, 1) for "6.31.1", (6, 32) for "6.32rc1"."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()


def fingerprint(libraries: Iterable[LibraryInfo], others: Iterable[str]) -> str:
    """Returns the fingerprint of this machine, its packages and the libraries that make environments.

    Numbers depend on the packages and on the processor's features, by which NumPy chooses its loops.

    Args:
        libraries: The libraries that make environments.
        others: Packages of an interpreter that is not the server's own, each as NAME==VERSION.
    """
    packages = sorted({f"{each.name}=={each.version}" for each in distributions()})
    facts = [
        platform.python_version(),
        platform.machine(),
        *_processor_features(),
        *packages,
        *(f"{each.name}=={each.version}" for each in libraries),
        *sorted(others),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:_FINGERPRINT_LENGTH]


def _processor_features() -> list[str]:
    """Returns the features of the first processor, in their order; empty if the system does not list them."""
    try:
        lines = _CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    listed = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return sorted(next(listed, "").split())
