"""`RemoteVectorEnv`: a remote vector environment with the interface of `envwire.envs.vector.VectorEnv`."""

from __future__ import annotations

from typing import Any

from envwire.client._vector.proxy import VectorProxy
from envwire.codec import envwire_family
from envwire.envs.vector import VectorEnv


class RemoteVectorEnv(VectorProxy, VectorEnv[Any, Any, Any]):  # type: ignore[override]  # its generators are copies  # noqa: D101 - its base documents it
    __doc__ = VectorProxy.__doc__

    _family = envwire_family()
