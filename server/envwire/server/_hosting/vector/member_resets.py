"""Records when members of a vector environment are reset, and the state of their generators before.

With both, a client can recover each member by replaying its own episode (see `member_starts`).
"""

from __future__ import annotations

from typing import Any

from envwire.server._hosting.np_random import write_state
from envwire.server._hosting.vector.members import StandIn
from envwire.v1 import environment_pb2


class ReportingMember(StandIn):
    """Wraps a member of a vector environment, and records its unseeded resets.

    Args:
        index: Its index in the vector environment.
        member: The environment.
        resets: List to which its resets are appended.
    """

    def __init__(self, index: int, member: Any, resets: list[environment_pb2.MemberReset]) -> None:
        super().__init__(member)
        self._index = index
        self._resets = resets
        self.step = member.step  # bound directly: steps skip this wrapper

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Resets the member; a seeded reset is not recorded, since it does not depend on earlier state."""
        noted = environment_pb2.MemberReset(member=self._index)
        if seed is None:
            write_state(self._member, noted)
        result = self._member.reset(seed=seed, options=options)
        if seed is None:
            self._resets.append(noted)
        return result
