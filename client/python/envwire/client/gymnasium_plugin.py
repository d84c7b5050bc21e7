"""Registers `envwire/Remote-v0` with Gymnasium.

Gymnasium 0.29 loads this through an entry point while it is imported, so this module imports little. Later versions
load no plugins: there, importing `envwire.client.gymnasium` registers the id, and so does
`gymnasium.make("envwire.client.gymnasium:envwire/Remote-v0", ...)`.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

REMOTE_ID = "envwire/Remote-v0"


def register() -> None:
    """Registers the remote environment, unless it is registered already."""
    registration: Any = import_module("gymnasium.envs.registration")
    if REMOTE_ID in registration.registry:
        return
    registration.register(
        id=REMOTE_ID,
        entry_point="envwire.client.gymnasium:make_remote",
        vector_entry_point=_vector_entry_point(),
        # The server's wrappers check the environment and enforce the order of calls.
        disable_env_checker=True,
        order_enforce=False,
    )


def _vector_entry_point() -> str | None:
    """Returns the vector entry point; None before Gymnasium 1.1, whose vector environments have no autoreset mode."""
    version = tuple(int(part) for part in metadata.version("gymnasium").split(".")[:2])
    return "envwire.client.gymnasium:make_remote_vec" if version >= (1, 1) else None
