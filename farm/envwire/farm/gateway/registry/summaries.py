"""Summarizes a farm as one server: the environments and capabilities of its servers. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envwire.codec.messages import to_seconds
from envwire.farm.gateway.registry.states import Member, State
from envwire.v1 import environment_pb2 as pb
from envwire.wire.version import VERSION


def list_environments(
    members: Iterable[Member], of_groups: Iterable[pb.EnvironmentListing] = ()
) -> pb.ListEnvironmentsResponse:
    """Returns the environments of all servers, without duplicates, in the order in which a server lists them.

    Args:
        members: The servers.
        of_groups: The environments of groups, whose servers start on demand.
    """
    found = {
        (each.library, each.spec.id): each
        for member in members
        for each in member.hello.environments
    }
    running = {env_id for _, env_id in found}
    for each in of_groups:
        if each.library or each.spec.id not in running:
            found.setdefault((each.library, each.spec.id), each)
    return pb.ListEnvironmentsResponse(environments=[found[key] for key in sorted(found)])


def describe(members: Sequence[Member], incarnation: str, now: float) -> pb.GetServerInfoResponse:
    """Returns the capabilities and limits that hold on every server of the farm.

    Args:
        members: The servers that are not dead.
        incarnation: Identifies the run of the gateway.
        now: The time.
    """
    infos = [member.hello.info for member in members]
    shared = set[str]().union(*(info.capabilities for info in infos))
    shared = shared.intersection(*(info.capabilities for info in infos)) - {"direct"}
    libraries = {
        (each.name, each.version, each.group): each for info in infos for each in info.libraries
    }
    if any(member.hello.keeps_slots and member.client_address for member in members):
        shared |= {"tickets"}
    summary = pb.GetServerInfoResponse(
        version=VERSION,
        capabilities=sorted(shared),
        max_sessions=sum(member.capacity for member in members),
        active_sessions=sum(member.load for member in members),
        incarnation=incarnation,
        libraries=libraries.values(),
        draining=bool(members)
        and all(member.state(now) == State.STATE_DRAINING for member in members),
        cpu_count=sum(info.cpu_count for info in infos),
    )
    if infos:  # what every server allows, and the longest time to wait
        summary.default_lease.CopyFrom(min((each.default_lease for each in infos), key=to_seconds))
        summary.max_lease.CopyFrom(min((each.max_lease for each in infos), key=to_seconds))
        summary.step_timeout.CopyFrom(max((each.step_timeout for each in infos), key=to_seconds))
        summary.max_message_bytes = min(each.max_message_bytes for each in infos)
        summary.max_envs_per_session = min(each.max_envs_per_session for each in infos)
    return summary
