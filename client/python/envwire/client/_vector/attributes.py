"""Attributes of a remote vector environment: those of its environments, and what is known of its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envwire.client._session.notices import Notice
from envwire.client._session.stats import ConnectionStats
from envwire.client._vector.members import Members
from envwire.client._vector.shard_pool import ShardPool


class MemberAttributes:
    """The part of a vector proxy that reads and sets attributes of its environments."""

    metadata: dict[str, Any]
    _members: Members
    _pool: ShardPool

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of each environment, or reads an attribute; returns a tuple with one result of each."""
        return self._members.call(name, args, kwargs)

    def get_attr(self, name: str) -> Any:
        """Returns a tuple with an attribute of each environment (or the result, if it is a method)."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment: to its element of a list or tuple, or all to one value.

        Raises:
            ValueError: There are not as many values as environments.
        """
        self._members.set_attr(name, values)

    def call_on(self, indices: Sequence[int], name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Like `call`, for some of the environments; returns their results in the order of `indices`."""
        return self._members.call_on(indices, name, args, kwargs)

    def set_attr_on(self, indices: Sequence[int], name: str, value: Any) -> None:
        """Sets an attribute of some of the environments to one value."""
        self._members.set_attr_on(indices, name, value)

    @property
    def np_random(self) -> Any:
        """The generators of the environments as they are now, a tuple; a native vector environment has one.

        They are copies: what is drawn from them here is not drawn there.
        """
        return self._members.generators()

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the environments' generators, a tuple; a native vector environment has one."""
        return self.call("np_random_seed")

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counters of the sessions and connections, summed."""
        return self._pool.stats()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the servers, such as that one is about to stop and in how many seconds."""
        return self._pool.notices()

    @property
    def autoreset_mode(self) -> Any:
        """When an environment whose episode ended is reset: a member of `AutoresetMode`."""
        return self.metadata["autoreset_mode"]

    @property
    def observation_mode(self) -> str:
        """How the observation spaces go together: all environments have the "same"."""
        return "same"
