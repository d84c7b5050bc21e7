"""Policies by name: the random one, or a function in the user's module."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from envwire.server.cli._failures import CommandError

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
