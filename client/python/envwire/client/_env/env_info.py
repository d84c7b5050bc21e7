"""The attributes of a remote environment that need no request: those its Make returned, and connection counters."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from envwire.client._env.proxy_arguments import ProxyArguments
from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._session.notices import Notice
from envwire.client._session.stats import ConnectionStats
from envwire.client.errors import InvalidRequestError
from envwire.codec import (
    CodecError,
    Family,
    decode_env_spec,
    decode_mapping,
    decode_space,
    decode_value,
)
from envwire.v1 import environment_pb2

if TYPE_CHECKING:
    from typing_extensions import Self

H = TypeVar("H", bound=BaseSessionHandle[Any])


def read_spaces(message: Any, env: str, family: Family, *names: str) -> list[Any]:
    """Reads the spaces in fields of a message.

    Args:
        message: The message.
        env: How the environment prints, for errors.
        family: Classes to build spaces of.
        names: Names of the fields.

    Raises:
        InvalidRequestError: A space is too large, or not in the family.
    """
    try:
        return [decode_space(getattr(message, name), family, name) for name in names]
    except CodecError as error:
        raise InvalidRequestError(f"a space of {env} cannot be built here: {error}") from error


class EnvAttributes(Generic[H]):
    """The attributes that a proxy, blocking or for asyncio, knows without a request."""

    _family: Family
    _handle: H
    _arguments: ProxyArguments
    # The base classes declare these as plain attributes; here they are copied from the remote environment.
    spec: Any
    metadata: dict[str, Any]
    render_mode: str | None
    reward_range: Any
    observation_space: Any
    action_space: Any

    def _describe(self, made: environment_pb2.MakeResponse) -> None:
        """Sets the attributes from the answer to a Make."""
        family = self._family
        self.observation_space, self.action_space = read_spaces(
            made, made.description, family, "observation_space", "action_space"
        )
        self.metadata = decode_mapping(made.metadata, family)
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self.reward_range = decode_value(made.reward_range, family)
        self.spec = None
        if made.HasField("spec"):
            self.spec = decode_env_spec(made.spec, family, self._arguments.entry_point)
            self.spec.kwargs = self._arguments.spec_kwargs(self.spec.kwargs)
            # The server applies the wrappers. `make` would import them here, by names that the server sent.
            self.spec.additional_wrappers = ()

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counters of this environment's connections and sessions since it was first made."""
        return self._handle.stats

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the server, such as that it is about to stop and in how many seconds."""
        return self._handle.notices

    @property
    def recorded_as(self) -> str:
        """Name of the recording that the server keeps of the current session; empty if it keeps none."""
        driver = self._handle.driver
        return "" if driver is None else driver.session.recorded_as

    def _clone(self) -> Self:
        """Returns a copy of this object, with its own spaces and metadata."""
        clone = object.__new__(type(self))
        vars(clone).update(vars(self))
        for name in ("observation_space", "action_space", "metadata"):
            setattr(clone, name, copy.deepcopy(getattr(self, name)))
        return clone
