"""The farm as if it were one server: what its servers make, and what they can do together. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from envwire.farm.gateway.states import Member, State
from envwire.server._version import VERSION
from envwire.v1 import environment_pb2 as pb


def list_environments(members: Iterable[Member]) -> pb.ListEnvironmentsResponse:
    """Returns all that servers make, each id once; ordered as a server orders it."""
    found = {
        (each.library, each.spec.id): each
        for member in members
        for each in member.hello.environments
    }
    return pb.ListEnvironmentsResponse(environments=[found[key] for key in sorted(found)])


def describe(members: Sequence[Member], incarnation: str, now: float) -> pb.GetServerInfoResponse:
    """Returns what clients can count on, wherever in the farm an environment is made.

    Args:
        members: The servers, dead ones left out.
        incarnation: Names the run of the gateway.
        now: The time.
    """
    infos = [member.hello.info for member in members]
    capabilities = [set(info.capabilities) for info in infos] or [set[str]()]
    libraries = {(each.name, each.version): each for info in infos for each in info.libraries}
    summary = pb.GetServerInfoResponse(
        version=VERSION,
        capabilities=sorted(set.intersection(*capabilities) - {"direct"}),
        max_sessions=sum(member.capacity for member in members),
        active_sessions=sum(member.load for member in members),
        incarnation=incarnation,
        libraries=libraries.values(),
        draining=bool(members)
        and all(member.state(now) == State.STATE_DRAINING for member in members),
        cpu_count=sum(info.cpu_count for info in infos),
    )
    for name, pick in _PICKED.items():
        _pick(name, pick, infos, summary)
    return summary


def _length(info: pb.GetServerInfoResponse, name: str) -> Any:
    value: Any = getattr(info, name)
    return value if isinstance(value, int) else value.ToNanoseconds()


#: Limits that differ between servers: the smallest of what is granted, the largest of what is to be waited for.
_PICKED: dict[str, Callable[..., Any]] = {
    "default_lease": min,
    "max_lease": min,
    "step_timeout": max,
    "max_message_bytes": min,
    "max_envs_per_session": min,
}


def _pick(
    name: str,
    pick: Callable[..., Any],
    infos: Sequence[pb.GetServerInfoResponse],
    summary: pb.GetServerInfoResponse,
) -> None:
    if not infos:
        return
    value: Any = getattr(pick(infos, key=lambda info: _length(info, name)), name)
    if isinstance(value, int):
        setattr(summary, name, value)
    else:
        getattr(summary, name).CopyFrom(value)
