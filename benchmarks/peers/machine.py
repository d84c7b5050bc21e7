"""Describes the machine and the versions, so that results can be interpreted later."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.peers.plan import VENVS

OURS = ("envwire", "grpcio", "protobuf", "numpy", "gymnasium")
THEIRS = {
    "dm_env_rpc": "dm-env-rpc",
    "openenv": "openenv",
    "remote_gym": "remote-gym",
    "envpool": "envpool",
}


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _elsewhere(venv: str, name: str) -> str:
    python = VENVS / venv / "bin" / "python"
    if not python.exists():
        return ""
    ask = f"from importlib.metadata import version; print(version({name!r}))"
    done = subprocess.run(
        [python, "-c", ask], capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout.strip()


def describe() -> dict[str, Any]:
    """Returns the date, the machine and the versions of what is compared."""
    versions = {name: _installed(name) for name in OURS}
    versions |= {name: _elsewhere(venv, name) for venv, name in THEIRS.items()}
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "versions": {name: number for name, number in versions.items() if number},
    }


def sentence(machine: dict[str, Any]) -> str:
    """Returns the description as a caption for a table or a plot."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    where = f"{machine['cores']} cores of {machine['processor']}, {machine['system']}"
    return f"{machine['date']}, {where}, Python {machine['python']}, {versions}"
