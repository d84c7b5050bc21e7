"""What an engine is: it starts, places and counts the servers of groups, and stops them. It carries no traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from envwire.farm.gateway.groups.failures import Failure
from envwire.farm.gateway.groups.group_config import GROUP_LABEL, INSTANCE_LABEL, GroupConfig
from envwire.server.config import ServerConfig


@dataclass(frozen=True)
class Observed:
    """The servers of a group, as its engine sees them.

    Attributes:
        running: Names of those that run or start, without those that are stopping: their label "instance".
        doing: What is done before a server runs, such as "installing packages"; empty for nothing. Its time to start
            begins afterwards.
        lacking: What a server lacks, such as a node with room; empty for nothing. Its time to start goes on.
        failures: Servers that did not start, or ended by themselves, since the last call.
    """

    running: frozenset[str] = frozenset()
    doing: str = ""
    lacking: str = ""
    failures: Sequence[Failure] = field(default=())


class Engine(Protocol):
    """Runs the servers of the groups of one farm.

    A farm that was killed and is started again asks its engine what runs, so that nothing is started twice. Methods
    raise EngineError if the engine does not answer or refuses.
    """

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Stops some servers of a group, and starts or stops others until it has a number of them.

        It returns when that is ordered, not done.

        Args:
            group: The group.
            servers: The number.
            stop: Names of servers to stop in any case. A server that stops has its drain time.
        """
        ...

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the servers of all groups that have any, or have failed, by the group's name."""
        ...

    async def stop(self) -> None:
        """Stops all servers of the farm; their sessions have the drain time to end."""
        ...


def server_config(
    group: GroupConfig, instance: str, gateways: Sequence[str], **more: object
) -> ServerConfig:
    """Returns the settings of one server of a group.

    Args:
        group: The group.
        instance: Name of the server at the engine.
        gateways: HOST:PORT of the gateways that it joins.
        more: Settings of the engine.
    """
    labels = (f"{GROUP_LABEL}={group.name}", f"{INSTANCE_LABEL}={instance}")
    own = {"join": tuple(gateways), "labels": (*group.server.labels, *labels), **more}
    return replace(group.server, **own)  # type: ignore[arg-type]
