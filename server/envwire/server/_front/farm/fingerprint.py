"""A server's fingerprint: servers with equal fingerprints are expected to compute equal numbers."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path

from envwire.v1.environment_pb2 import LibraryInfo

_CPU = Path("/proc/cpuinfo")
_LENGTH = 16


def fingerprint(libraries: Iterable[LibraryInfo], others: Iterable[str]) -> str:
    """Returns the fingerprint of this machine, its packages and the libraries that make environments.

    Numbers depend on the packages and on the processor's features, by which NumPy chooses its loops.

    Args:
        libraries: The libraries of all groups.
        others: Packages of other interpreters, with name, version and group.
    """
    packages = sorted({f"{each.name}=={each.version}" for each in distributions()})
    facts = [
        platform.python_version(),
        platform.machine(),
        *_processor_features(),
        *packages,
        *(f"{each.group}:{each.name}=={each.version}" for each in libraries),
        *sorted(others),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:_LENGTH]


def _processor_features() -> list[str]:
    """Returns the features of the first processor, in their order; empty if the system does not list them."""
    try:
        lines = _CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    listed = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return sorted(next(listed, "").split())
