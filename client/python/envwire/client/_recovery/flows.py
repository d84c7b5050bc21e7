"""Recovery without I/O: flows yield what to do next, drivers do it and send back the outcome.

What they yield is done by `envwire.client._session.flows.run`, which blocks, or by `run_async`; an exception goes into
the flow where it waits. So the strategies are written once for both.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from envwire.client._session.flows import Pause
from envwire.client._session.operations import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MakeAgain:
    """Make the environment again, in a session that takes the place of the lost one."""


@dataclass(frozen=True, slots=True)
class MakeNew:
    """Make the environment as a new one, which has no past."""


@dataclass(frozen=True, slots=True)
class CopyTo:
    """Let the server make a copy of the session.

    Attributes:
        twin: A handle of the same kind, which takes it.
    """

    twin: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the session something; the result comes back.

    Attributes:
        operation: What.
        recover: Whether a session that is lost meanwhile is recovered.
    """

    operation: Operation[Any]
    recover: bool = False


@dataclass(frozen=True, slots=True)
class LetGo:
    """Let go of the session.

    Attributes:
        close: Whether it may be there still, to be closed.
    """

    close: bool = False


Effect: TypeAlias = MakeAgain | MakeNew | CopyTo | Ask | LetGo | Pause
Flow: TypeAlias = Generator[Effect, Any, T]
