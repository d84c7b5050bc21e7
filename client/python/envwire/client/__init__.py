"""The Python client: remote environments with the `Env` and `VectorEnv` interfaces.

>>> from envwire.client import RemoteEnv
>>> env = RemoteEnv("localhost:50051", "CartPole-v1")
>>> observation, info = env.reset(seed=42)
"""

from __future__ import annotations

from envwire.client._env.saving import SavedState
from envwire.client._session.stats import ConnectionStats
from envwire.client._transports.transport import Transport
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
]
