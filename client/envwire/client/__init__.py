"""The client: remote environments that are environments.

>>> from envwire.client import RemoteEnv
>>> env = RemoteEnv("localhost:50051", "CartPole-v1")
>>> observation, info = env.reset(seed=42)
"""

from __future__ import annotations

from envwire.client._credentials import Credentials
from envwire.client._remote_env import RemoteEnv
from envwire.client._remote_vector_env import RemoteVectorEnv
from envwire.client._saving import SavedState
from envwire.client._stats import ConnectionStats
from envwire.client._transport import Transport
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
