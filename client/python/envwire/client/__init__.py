"""The Python client: remote environments with the `Env` and `VectorEnv` interfaces.

>>> from envwire.client import RemoteEnv
>>> env = RemoteEnv("localhost:50051", "CartPole-v1")
>>> observation, info = env.reset(seed=42)

Each name is loaded when it is first used, so that importing this package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "CapacityError",
    "ConnectionStats",
    "Credentials",
    "InvalidRequestError",
    "NotAllowedError",
    "RemoteEnv",
    "RemoteEnvError",
    "RemoteError",
    "RemoteVectorEnv",
    "ReplayError",
    "ReplayMismatchError",
    "RequestTimeoutError",
    "SavedState",
    "ServerUnavailableError",
    "SessionClosedError",
    "SessionError",
    "SessionLostError",
    "StepTimeoutError",
    "TlsError",
    "Transport",
    "UnauthenticatedError",
    "__version__",
]

if TYPE_CHECKING:
    from envwire.client._env.saving import SavedState
    from envwire.client._session.stats import ConnectionStats
    from envwire.client._transports.transport import Transport
    from envwire.client._version import __version__
    from envwire.client.credentials import Credentials
    from envwire.client.env import RemoteEnv
    from envwire.client.errors import (
        CapacityError,
        InvalidRequestError,
        NotAllowedError,
        RemoteEnvError,
        RemoteError,
        ReplayError,
        ReplayMismatchError,
        RequestTimeoutError,
        ServerUnavailableError,
        SessionClosedError,
        SessionError,
        SessionLostError,
        StepTimeoutError,
        TlsError,
        UnauthenticatedError,
    )
    from envwire.client.vector import RemoteVectorEnv
else:
    from envwire.envs._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_env.saving": "SavedState",
            "_session.stats": "ConnectionStats",
            "_transports.transport": "Transport",
            "_version": "__version__",
            "credentials": "Credentials",
            "env": "RemoteEnv",
            "errors": " ".join(name for name in __all__ if name.endswith("Error")),
            "vector": "RemoteVectorEnv",
        },
        submodules=("credentials", "env", "errors", "vector"),
    )
