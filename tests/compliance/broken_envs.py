"""Environments that cannot be made, for want of a key or of a package."""

from __future__ import annotations

from typing import Any, NoReturn

import gymnasium

import envwire.envs as gym

KEYLESS, PACKAGELESS, UNINSTALLED = (
    "tests/Keyless-v0",
    "tests/Packageless-v0",
    "tests/Uninstalled-v0",
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


for _id, _make in ((KEYLESS, keyless), (PACKAGELESS, packageless), (UNINSTALLED, uninstalled)):
    gym.register(id=_id, entry_point=_make)
