"""The two families of classes that values are decoded to: envwire's and Gymnasium's.

Both have the same names in nearly the same modules, so one class describes both, and decoding takes a family as an
argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from envwire.wire.frames import DeviceArrays

ROOTS = {"envwire": "envwire.envs", "gymnasium": "gymnasium"}
"""The package that holds each family."""


@dataclass(frozen=True)
class Family:
    """The classes of one library.

    Attributes:
        name: "envwire" or "gymnasium".
        Wrapper: Its wrapper class.
        spaces: Its module of spaces.
        error: Its module of exceptions.
        vector: Its module of vector environments.
        EnvSpec: Its specification of an environment.
        WrapperSpec: Its specification of a wrapper.
        GraphInstance: Its sample of a Graph space.
        AutoresetMode: Its enumeration of autoreset modes; None before Gymnasium 1.1.
        arrays: Builds arrays on a device, for one end of one session; None for arrays of NumPy.
    """

    name: str
    Wrapper: type[Any]
    spaces: ModuleType
    error: ModuleType
    vector: ModuleType
    EnvSpec: type[Any]
    WrapperSpec: type[Any]
    GraphInstance: type[Any]
    AutoresetMode: type[Any] | None
    arrays: DeviceArrays | None = None


@cache
def envwire_family() -> Family:
    """Returns the classes of `envwire.envs`."""
    return _collect("envwire")


@cache
def gymnasium_family() -> Family:
    """Returns the classes of the installed Gymnasium, 0.29.1 or later.

    Raises:
        ImportError: Gymnasium is not installed.
    """
    try:
        return _collect("gymnasium")
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise ImportError(
            "Gymnasium is not installed, and its classes were asked for. "
            "Install it with: pip install 'envwire[gymnasium]'"
        ) from error


def belongs_to_a_family(kind: type[Any]) -> bool:
    """Returns whether a class was defined in one of the two libraries."""
    return str(kind.__module__).startswith(_PREFIXES)


#: The module of each family that defines `EnvSpec`.
_SPECS = {"envwire": "specs", "gymnasium": "envs.registration"}

_PREFIXES = tuple(f"{root}." for root in ROOTS.values())


def _collect(name: str) -> Family:
    root = ROOTS[name]
    import_module(root)
    core, spaces, error, specs, vector = (
        import_module(f"{root}.{module}")
        for module in ("core", "spaces", "error", _SPECS[name], "vector")
    )
    return Family(
        name=name,
        Wrapper=core.Wrapper,
        spaces=spaces,
        error=error,
        vector=vector,
        EnvSpec=specs.EnvSpec,
        WrapperSpec=specs.WrapperSpec,
        GraphInstance=spaces.GraphInstance,
        AutoresetMode=getattr(vector, "AutoresetMode", None),
    )
