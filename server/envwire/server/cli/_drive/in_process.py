"""The transport to an environment in the command's own process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from envwire.server._hosting.imports import BrokenModuleError
from envwire.server.cli._failures import CommandError
from envwire.server.inprocess import InProcessTransport


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
