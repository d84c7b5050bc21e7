"""The description of one measurement, in a form that every interpreter of the benchmark can read."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from typing import Protocol

#: One exchange: a step, or the reset that begins the next episode.
Step = Callable[[], object]


@dataclass(frozen=True)
class Setup:
    """The environment that a case steps, and how.

    Attributes:
        size: Bytes of an observation of the trivial environment.
        num_envs: Environments in one batch, for vector environments.
        clients: Clients connected to one server at most.
        variant: The variant of the peer, such as a transport or a gRPC method.
    """

    size: int = 16
    num_envs: int = 1
    clients: int = 1
    variant: str = ""

    def to_json(self) -> str:
        """Returns the setup as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """Reads the output of `to_json`."""
        return cls(**json.loads(text))

    @property
    def dtype(self) -> str:
        """The dtype: the smallest observations are vectors of numbers, larger ones are pictures."""
        return "float32" if self.size == 16 else "uint8"

    @property
    def shape(self) -> tuple[int]:
        """The shape of an observation of `size` bytes."""
        return (self.size // 4,) if self.dtype == "float32" else (self.size,)


class Connect(Protocol):
    """`connect` of a peer's module: opens one client, for as long as the context lasts."""

    def __call__(self, setup: Setup, port: int) -> AbstractContextManager[Step]:
        """Yields a function that makes one exchange with the server at a port of this machine."""
        ...


class Serve(Protocol):
    """`serve` of a peer's module: serves until the process is ended."""

    def __call__(self, setup: Setup, announce: Callable[[int], None]) -> None:
        """Calls `announce` with the port when clients can connect."""
        ...


@contextmanager
def closing_later(step: Step, close: Callable[[], object]) -> Generator[Step]:
    """Yields the step of a client and closes it afterwards."""
    try:
        yield step
    finally:
        close()
