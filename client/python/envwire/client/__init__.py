"""The Python client: remote environments with the `Env` and `VectorEnv` interfaces.

>>> from envwire.client import RemoteEnv
>>> env = RemoteEnv("localhost:50051", "CartPole-v1")
>>> observation, info = env.reset(seed=42)

Each name is loaded when it is first used, so that importing this package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.client._env.saving import SavedState as SavedState
    from envwire.client._recovery.session_handle import ConnectionStats as ConnectionStats
    from envwire.client._transports.transport import Transport as Transport
    from envwire.client.credentials import Credentials as Credentials
    from envwire.client.env import RemoteEnv as RemoteEnv
    from envwire.client.errors import CapacityError as CapacityError
    from envwire.client.errors import InvalidRequestError as InvalidRequestError
    from envwire.client.errors import NotAllowedError as NotAllowedError
    from envwire.client.errors import RemoteEnvError as RemoteEnvError
    from envwire.client.errors import RemoteError as RemoteError
    from envwire.client.errors import ReplayError as ReplayError
    from envwire.client.errors import ReplayMismatchError as ReplayMismatchError
    from envwire.client.errors import RequestTimeoutError as RequestTimeoutError
    from envwire.client.errors import ServerUnavailableError as ServerUnavailableError
    from envwire.client.errors import SessionClosedError as SessionClosedError
    from envwire.client.errors import SessionError as SessionError
    from envwire.client.errors import SessionLostError as SessionLostError
    from envwire.client.errors import StepTimeoutError as StepTimeoutError
    from envwire.client.errors import TlsError as TlsError
    from envwire.client.errors import UnauthenticatedError as UnauthenticatedError
    from envwire.client.vector import RemoteVectorEnv as RemoteVectorEnv
    from envwire.wire.version import __version__ as __version__
else:
    from envwire.envs._lazy import lazy_names

    _NAMES = {
        "_env.saving": "SavedState",
        "_recovery.session_handle": "ConnectionStats",
        "_transports.transport": "Transport",
        "credentials": "Credentials",
        "env": "RemoteEnv",
        "errors": "CapacityError InvalidRequestError NotAllowedError RemoteEnvError "
        "RemoteError ReplayError ReplayMismatchError RequestTimeoutError "
        "ServerUnavailableError SessionClosedError SessionError SessionLostError "
        "StepTimeoutError TlsError UnauthenticatedError",
        "vector": "RemoteVectorEnv",
        ".wire.version": "__version__",
    }
    __all__ = [name for names in _NAMES.values() for name in names.split()]
    _MODULES = ("credentials", "env", "errors", "vector")
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, submodules=_MODULES)
