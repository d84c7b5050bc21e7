"""The types of public functions and methods resolve, for programs that make documentation or forms of them."""

from __future__ import annotations

import inspect
import ssl
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

import pytest

import envwire.client
import envwire.envs
from envwire.envs.envs.conformance.values import BigEnv
from envwire.envs.envs.toy_text.frozen_lake import FrozenLakeEnv
from tests.each import each

#: Names that are not there when the program runs: Python 3.10 has no Self, and what TLS and devices need is imported
#: where they are used.
ABSENT = {"Self": Any, "ssl": ssl, "ClientDevice": Any}


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """Returns the public functions of a module, and the public methods of its public classes."""
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isfunction(found):
            yield found
        elif inspect.isclass(found):
            yield from methods(found)


def methods(owner: type) -> Iterator[FunctionType]:
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        found = getattr(found, "fget", None) or getattr(found, "__func__", found)
        if inspect.isfunction(found) and (name == "__init__" or not name.startswith("_")):
            yield found


PUBLIC = {
    f"{each.__module__}.{each.__qualname__}": each
    for module in (envwire.envs, envwire.client)
    for each in functions(module)
}


@each("function", PUBLIC)
def test_public_functions_and_methods_have_types_that_resolve(function: FunctionType) -> None:
    get_type_hints(function, localns=ABSENT)


@pytest.mark.parametrize("owner", [FrozenLakeEnv, BigEnv])
@pytest.mark.parametrize("name", ["reset", "step"])
def test_steps_of_environments_have_types_that_resolve(owner: type, name: str) -> None:
    get_type_hints(getattr(owner, name))
