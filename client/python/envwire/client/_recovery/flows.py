"""Recovery without I/O: flows yield effects, and handles perform them.

`envwire.client._session.flows.run` runs a flow blocking, `run_async` in an event loop; an effect's exception is raised
at the flow's `yield`. So the strategies are written once for both.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from envwire.client._session.flows import Pause
from envwire.client._session.operations import Operation

T = TypeVar("T")


class MakeAgain:
    """Make the environment again, in a session that replaces the lost one."""


class MakeNew:
    """Make the environment as a new one, whose recording starts over."""


@dataclass(frozen=True, slots=True)
class CopyTo:
    """Let the server make a copy of the session.

    Attributes:
        clone: The handle for the copy, of the same class as the handle that performs this.
    """

    clone: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request to the session; the effect's result is the request's.

    Attributes:
        operation: The request.
        recover: Whether to recover a session that is lost meanwhile.
    """

    operation: Operation[Any]
    recover: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """Free the connection of the session.

    Attributes:
        close: Whether to close the session first, because it may still exist.
    """

    close: bool = False


Effect: TypeAlias = MakeAgain | MakeNew | CopyTo | Ask | Kill | Pause
Flow: TypeAlias = Generator[Effect, Any, T]
#: A flow that only sends requests.
Asking: TypeAlias = Generator[Ask, Any, T]
