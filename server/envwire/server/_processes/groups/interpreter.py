"""The interpreter that runs environments: the server's own, or the one that the operator named.

Another interpreter has other packages, and is told where this one's code is, so that both sides of a session's link
always run the same. It hears that in its arguments: what an environment can write to is no place to take code from.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

from envwire.server._processes.forkserver_start import PROGRAM, ForkserverError
from envwire.server._version import VERSION
from envwire.server.config import ServerConfig

#: The oldest versions that processes of environments run with.
_NEEDED = {"Python": (3, 10), "numpy": (1, 26), "protobuf": (6, 31, 1)}
#: Tells an interpreter's versions; any Python runs it.
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
#: Runs the fork server of this code in another interpreter.
_RUN = """
import runpy, sys, types
package = sys.modules["envwire"] = types.ModuleType("envwire")
package.__path__, package.__version__ = {path!r}, {version!r}
runpy.run_module({program!r}, run_name="__main__", alter_sys=True)
"""
#: Time for the interpreter to tell its versions.
_REPORT_SECONDS = 60.0
#: The operator's secrets where a server is started: the token of a client, and what a collector of traces asks for.
_SECRETS = frozenset(
    {"ENVWIRE_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}
)
#: What hides devices from CUDA and HIP: they take the numbers up to the first that is none.
_NO_DEVICE = "-1"
_DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


class Interpreter:
    """The interpreter of the environments of one configuration.

    Args:
        config: The settings.

    Attributes:
        program: Its file.
        packages: What is installed in one that is not the server's own, NAME==VERSION each, once it was checked.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.program = os.fspath(config.python) or sys.executable
        self.packages: list[str] = []
        self._config = config

    def check(self) -> None:
        """Checks an interpreter that is not the server's own.

        Raises:
            ForkserverError: It cannot be run, or it or a package is missing or too old.
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
            for name in ("PYTHONHOME", "PYTHONPATH"):  # they are for the server's own
                variables.pop(name, None)
        if devices := self._config.gpus:
            seen = _NO_DEVICE if devices == "none" else devices
            variables |= dict.fromkeys(_DEVICE_VARIABLES, seen)
        return variables | given

    def command(self) -> tuple[list[str], dict[str, str]]:
        """Returns what starts the fork server, and its variables."""
        if not self._config.python:
            return [self.program, "-m", PROGRAM], self.variables()
        path = list(map(os.path.abspath, importlib.import_module("envwire").__path__))
        run = _RUN.format(path=path, version=VERSION, program=PROGRAM)
        return [self.program, "-c", run], self.variables()


def _report(program: str, environment: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the versions that an interpreter reports, and what is installed there.

    Raises:
        ForkserverError: It does not run, or not as Python.
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
    """Returns the numbers that a version begins with: (6, 31, 1) of "6.31.1", (6, 32) of "6.32rc1"."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
