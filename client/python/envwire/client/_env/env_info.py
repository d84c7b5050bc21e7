"""The fixed attributes of a remote environment, decoded from the answer to its Make."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from envwire.codec import Family, decode_mapping, decode_space, decode_value
from envwire.v1 import environment_pb2

if TYPE_CHECKING:
    from typing_extensions import Self


class EnvInfo:
    """The attributes of an environment that do not change while it handle."""

    _family: Family
    # The base classes call these plain attributes; here they follow the environment's.
    spec: Any
    metadata: dict[str, Any]
    render_mode: str | None
    reward_range: Any
    observation_space: Any
    action_space: Any

    def _describe(self, made: environment_pb2.MakeResponse) -> None:
        """Takes over what the server says of the environment."""
        family = self._family
        self.observation_space = decode_space(made.observation_space, family)
        self.action_space = decode_space(made.action_space, family)
        self.metadata = decode_mapping(made.metadata, family)
        self.render_mode = made.render_mode if made.HasField("render_mode") else None
        self.reward_range = decode_value(made.reward_range, family)
        self.spec = None

    def _twin(self) -> Self:
        """Returns an object like this one, with spaces and metadata of its own."""
        twin = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(twin, name, value)
        for name in ("observation_space", "action_space", "metadata"):
            setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin
