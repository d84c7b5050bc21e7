"""An environment that was made before a client asked for it, in a process that has served no client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from envwire.server._auth.allow_list import MakeOrder
from envwire.server._processes.process import Process
from envwire.server._processes.session_link import LinkLostError, SessionLink
from envwire.v1 import environment_pb2 as pb


class NotMadeError(Exception):
    """The environment could not be made ahead."""


class WarmEnvironment:
    """An environment made ahead by `make`, until a client takes it.

    Args:
        env_id: Its id.
        process: Its process, in which it occupies a slot.
        on_lost: Called when the process is gone.

    Attributes:
        link: The environment's session in its process.
        reply: The process's answer to the Make.
    """

    def __init__(
        self, env_id: str, process: Process, on_lost: Callable[[WarmEnvironment], None]
    ) -> None:
        self.process = process
        self.reply = b""
        self._env_id = env_id
        self._on_lost = on_lost
        self.link: SessionLink = process.open(self)

    async def make(self, order: MakeOrder, timeout: float) -> None:
        """Makes the environment.

        Raises:
            NotMadeError: The environment raised or took too long, or its process is gone.
        """
        try:
            self.reply = await asyncio.wait_for(self.link.make(order), timeout)
        except asyncio.TimeoutError:
            self.process.kill()
            raise NotMadeError(f"it took longer than {timeout:g} s") from None
        except LinkLostError:
            raise NotMadeError(f"its process {self.process.pid} ended") from None
        reply = pb.InteractResponse.FromString(self.reply)
        if not reply.HasField("make"):
            raise NotMadeError(reply.error.message)

    def close(self) -> None:
        """Ends its session, which closes the environment."""
        self.process.end(self.link)

    @property
    def label(self) -> str:
        """Name of the environment in the operator's log."""
        return f"a warm environment ({self._env_id})"

    @property
    def log_fields(self) -> dict[str, str]:
        """Its fields in a JSON log."""
        return {"session": "", "client": "", "env_id": self._env_id}

    def on_reply(self) -> None:
        """Does nothing, since `make` reads the reply."""

    def on_closed(self) -> None:
        """Treats an ended session as lost."""
        self._on_lost(self)

    def on_lost(self) -> None:
        """Reports that the process is gone."""
        self._on_lost(self)
