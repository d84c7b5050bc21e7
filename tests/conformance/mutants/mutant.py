"""A server with one defect, and the checks that have to find it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envwire.conformance.proxy import Behaviour
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@dataclass(frozen=True)
class Mutant:
    """One defect.

    Attributes:
        name: What is wrong.
        make: Makes the behaviour.
        caught_by: Checks that fail, each of them.
    """

    name: str
    make: Callable[[], Behaviour]
    caught_by: tuple[str, ...]


#: All of them.
MUTANTS: list[Mutant] = []


def caught_by(*checks: str) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Lists a behaviour as a mutant."""

    def decorate(behaviour: type[Behaviour]) -> type[Behaviour]:
        MUTANTS.append(Mutant(behaviour.__name__, behaviour, checks))
        return behaviour

    return decorate


def body(request: pb.InteractRequest) -> object:
    """Returns the message inside of a request."""
    return getattr(request, request.WhichOneof("request") or "")


def reason(response: pb.InteractResponse) -> str:
    """Returns the reason of an error; empty for anything else."""
    for detail in response.error.details:
        if detail.type_url == ERROR_INFO:
            return status_pb2.ErrorInfo.FromString(detail.value).reason
    return ""
