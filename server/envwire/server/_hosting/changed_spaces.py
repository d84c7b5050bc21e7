"""Detects that a reset gave an environment other spaces than it was made with."""

from __future__ import annotations

from typing import Any

from envwire.codec import CodecError, FaultError, Reason, encode_space
from envwire.server._hosting.vector.members import SPACES
from envwire.server._hosting.vector.vector_hosts import is_vector
from envwire.v1 import environment_pb2, spaces_pb2


class ChangedSpaces:
    """The spaces of one environment: those that it was made with, and those after its last reset.

    Those of a vector environment cannot change: its host refuses a reset that changes them.

    Args:
        env: The environment, with its wrappers.
    """

    def __init__(self, env: Any) -> None:
        names = () if is_vector(env) else SPACES
        self._spaces = [_FollowedSpace(name, getattr(env, name, None)) for name in names]

    def write(self, env: Any, response: environment_pb2.ResetResponse) -> None:
        """Writes the spaces that differ from the first ones.

        Raises:
            FaultError: UNSUPPORTED: a space has no wire form.
        """
        for space in self._spaces:
            message = space.follow(getattr(env, space.name, None))
            if message is not None:
                getattr(response, space.name).CopyFrom(message)


class _FollowedSpace:
    """One space. The same object is compared by identity alone, because comparing the bounds of a Box takes 40 us."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = self._last = made
        self._message: spaces_pb2.Space | None = None

    def follow(self, space: Any) -> spaces_pb2.Space | None:
        """Returns the message of a space; None for the space from the beginning."""
        if space is not self._last:
            self._last = space
            self._message = None if space == self._made else self._written(space)
        return self._message

    def _written(self, space: Any) -> spaces_pb2.Space:
        message = spaces_pb2.Space()
        try:
            encode_space(space, message, self.name)
        except CodecError as error:
            raise FaultError(Reason.UNSUPPORTED, str(error)) from error
        return message
