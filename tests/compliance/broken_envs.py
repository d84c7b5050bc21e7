"""Environments that cannot be made: they need a key or a package, or have a space that is too large."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import gymnasium

import envwire.envs as gym

KEYLESS, PACKAGELESS, UNINSTALLED, HUGE, WARNED = (
    "tests/Keyless-v0",
    "tests/Packageless-v0",
    "tests/Uninstalled-v0",
    "tests/Huge-v0",
    "tests/Warned-v0",
)


def keyless(**_: Any) -> NoReturn:
    raise KeyError("missing")


def packageless(**_: Any) -> NoReturn:
    raise gymnasium.error.DependencyNotInstalled(
        'pygame is not installed, run `pip install "gymnasium[classic_control]"`'
    )


def uninstalled(**_: Any) -> NoReturn:
    import no_such_simulator  # type: ignore[import-not-found]  # noqa: F401

    raise AssertionError


def warned(**_: Any) -> NoReturn:
    warnings.warn("the simulator is old", DeprecationWarning, stacklevel=2)
    raise RuntimeError("too old")


class Huge(gym.Env[Any, Any]):
    """Observes more bits than fit."""

    observation_space = gym.spaces.MultiBinary(2**28 + 1)
    action_space = gym.spaces.Discrete(2)


_MAKERS: dict[str, Any] = {
    KEYLESS: keyless,
    PACKAGELESS: packageless,
    UNINSTALLED: uninstalled,
    HUGE: Huge,
    WARNED: warned,
}
for _id, _make in _MAKERS.items():
    gym.register(id=_id, entry_point=_make)
