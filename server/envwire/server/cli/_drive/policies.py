"""Policies by name: the random one, or a function in the user's module."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

#: Maps an observation and the action space to an action.
Policy = Callable[[Any, Any], Any]

RANDOM = "random"


def load_policy(name: str) -> Policy:
    """Returns the random policy, or the function that "module:function" names.

    The function is called with the observation and, if it takes two arguments, with the action space, which is seeded
    for each episode.

    Raises:
        ImportError: The module cannot be imported.
        ValueError: The module has no such function.
    """
    if name == RANDOM:
        return lambda _, space: space.sample()
    module, _, function = name.partition(":")
    sys.path.insert(0, os.getcwd())
    policy: Callable[..., Any] | None = getattr(
        importlib.import_module(module), function or "policy", None
    )
    if policy is None:
        raise ValueError(
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
