"""Transports of commands to an environment: on a server, or in the command's own process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envwire.server._hosting.imports import BrokenModuleError
from envwire.server.cli._failures import CommandError, UsageError
from envwire.server.cli._parameters import IN_PROCESS
from envwire.server.inprocess import InProcessTransport


def transport_of(
    target: str, env_id: str, imports: Sequence[str], options: Mapping[str, Any]
) -> str | InProcessTransport:
    """Returns the transport to a target.

    Args:
        target: HOST:PORT, or `IN_PROCESS`.
        env_id: The environment.
        imports: Modules or files that register it.
        options: The result of `arguments.making`.

    Raises:
        UsageError: Modules are given for a server, which imports its own.
        CommandError: No module registers the environment, or one cannot be imported.
    """
    if target == IN_PROCESS:
        return in_process(env_id, imports, (name for name, _ in options["wrappers"]))
    if imports:
        raise UsageError(
            f"--import goes with the target {IN_PROCESS}; a server imports what `envwire serve --import` names"
        )
    transport: str = options["transport"]
    return transport


def in_process(env_id: str, imports: Sequence[str], wrappers: Iterable[str]) -> InProcessTransport:
    """Returns the transport to an environment in this process, with the wrappers that its client names.

    Raises:
        CommandError: No module registers the environment, or one cannot be imported.
    """
    sys.path.insert(0, os.getcwd())
    own = [name for name in wrappers if ":" in name]
    try:
        return InProcessTransport([env_id], imports=imports, allow_wrappers=own)
    except (BrokenModuleError, LookupError) as error:
        raise CommandError(str(error)) from error
