"""The calls of FarmService by which operators look at groups, scale and pause them. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Callable

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.client import Client

_log = logging.getLogger("envwire.farm")


class GroupCalls:
    """Answers the calls about groups.

    Args:
        groups: The groups.
        clock: Monotonic time, in seconds.
    """

    def __init__(self, groups: Groups, clock: Callable[[], float]) -> None:
        self._groups = groups
        self._clock = clock

    async def list_groups(self, _: bytes, __: Client) -> pb.ListGroupsResponse:
        """Lists the groups."""
        now = self._clock()
        self._groups.refresh(now)
        return pb.ListGroupsResponse(groups=[each.status(now) for each in self._groups])

    async def scale_group(self, raw: bytes, client: Client) -> pb.ScaleGroupResponse:
        """Sets the smallest number of servers of a group, which ends its pause after a failure.

        Raises:
            FaultError: There is no such group, or it may not have so many servers.
        """
        request = pb.ScaleGroupRequest.FromString(raw)
        group = self._groups.named(request.group)
        if request.count > group.config.max:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"group {group.name!r} may have {group.config.max} servers (max), not {request.count}",
            )
        _log.info("%s scales group %s to %d", client.name, group.name, request.count)
        group.demand.least = request.count
        group.back_off.forget()
        self._groups.wake(group)
        return pb.ScaleGroupResponse(group=group.status(self._clock()))

    async def pause_group(self, raw: bytes, client: Client) -> pb.PauseGroupResponse:
        """Pauses or resumes a group.

        Raises:
            FaultError: There is no such group.
        """
        request = pb.PauseGroupRequest.FromString(raw)
        group = self._groups.named(request.group)
        _log.info("%s sets paused of group %s: %s", client.name, group.name, request.paused)
        group.paused = request.paused
        group.back_off.forget()
        self._groups.wake(group)
        self._groups.on_change()
        return pb.PauseGroupResponse(group=group.status(self._clock()))
