"""The user's own code in the command's process: a policy by its name, and an environment that no server holds."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from envwire.server._hosting.imports import BrokenModuleError
from envwire.server.cli._failures import CommandError
from envwire.server.inprocess import InProcessTransport

#: Maps an observation and the action space to an action.
Policy = Callable[[Any, Any], Any]

RANDOM = "random"


def load_policy(name: str) -> Policy:
    """Returns the random policy, or the function that "module:function" names.

    The function is called with the observation and, if it takes two arguments, with the action space, which is seeded
    for each episode.

    Raises:
        CommandError: There is no such module, or it has no such function.
        ImportError: The module imports something that is not there.
    """
    if name == RANDOM:
        return lambda _, space: space.sample()
    module, _, function = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise CommandError(
            f"there is no module {module!r} here or installed; name a policy as module:function, or say {RANDOM}"
        ) from None
    policy: object = getattr(loaded, function or "policy", None)
    if not callable(policy):
        raise CommandError(
            f"{module} has no function {function or 'policy'}; name one as module:function"
        )
    if _takes_space(policy):
        return policy
    return lambda observation, _: policy(observation)


def _takes_space(policy: Callable[..., Any]) -> bool:
    try:
        inspect.signature(policy).bind(None, None)
    except (TypeError, ValueError):  # one argument, or a builtin without a signature
        return False
    return True


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
