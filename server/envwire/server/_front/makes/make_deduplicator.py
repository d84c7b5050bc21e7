"""Makes by request id: a repeated Make joins the one in progress, or gets its answer if it has finished.

A client that lost the answer to a Make cannot know whether a session exists. It sends the same Make again under the
same id and gets that session. An answer is kept until its session serves a request or ends; failures are not kept.

A session whose answer no call took, because all were cancelled or their deadlines had passed, is ended at once instead
of when its lease runs out.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.request_size import check_request_id
from envwire.server._front.sessions.table import Sessions
from envwire.v1 import environment_pb2 as pb

#: Largest total size of kept answers. Beyond it the oldest are dropped, and repeating their Make makes a new session.
KEPT_BYTES = 64 * 1024 * 1024

_Making = Callable[[], Coroutine[Any, Any, pb.InteractResponse]]


@dataclass(eq=False)
class _Make:
    """A Make, in progress or finished.

    Attributes:
        content: Digest of the request.
        task: Makes the session; its result is the answer.
        waiting: How many calls wait for it.
        taken: Whether a call took its answer.
        size: Size of the answer in bytes; 0 while in progress.
    """

    content: bytes
    task: asyncio.Task[pb.InteractResponse]
    waiting: int = 0
    taken: bool = False
    size: int = 0


class MakeDeduplicator:
    """The Makes of one server; those with a request id can be repeated.

    Args:
        sessions: The sessions that Makes make.
        kept_bytes: Largest total size of kept answers, in bytes.
    """

    def __init__(self, sessions: Sessions, kept_bytes: int = KEPT_BYTES) -> None:
        self._sessions = sessions
        self._kept_bytes = kept_bytes
        self._makes: OrderedDict[tuple[str, bytes], _Make] = OrderedDict()

    def __len__(self) -> int:
        return len(self._makes)

    async def run_once(
        self, owner: str, request: pb.MakeRequest, making: _Making, deadline: float = math.inf
    ) -> pb.InteractResponse:
        """Makes a session, unless the same client has sent the same Make under the same id.

        Args:
            owner: Name of the client.
            request: The Make.
            making: Makes the session.
            deadline: When the call stops waiting, by the clock of the sessions.

        Raises:
            FaultError: MALFORMED_REQUEST: the id is invalid. REQUEST_ID_REUSED: it belongs to another Make. Or an
                error of `making`.
            CancelledError: The call was cancelled, or its deadline has passed.
        """
        key = (owner, request.request_id)
        if not request.request_id:
            return await self._join(key, _Make(b"", asyncio.create_task(making())), deadline)
        self.sweep()
        content = _digest(request)
        make = self._makes.get(key)
        if make is None:
            make = self._makes[key] = _Make(content, asyncio.create_task(making()))
            make.task.add_done_callback(partial(self._settle, key, make))
        elif make.content != content:
            raise FaultError(
                Reason.REQUEST_ID_REUSED,
                "this request_id was sent with another Make; give each Make an id of its own, and repeat it unchanged",
            )
        return await self._join(key, make, deadline)

    async def _join(
        self, key: tuple[str, bytes], make: _Make, deadline: float
    ) -> pb.InteractResponse:
        make.waiting += 1
        try:
            reply = await asyncio.shield(make.task)
            if self._sessions.clock() >= deadline:
                # The client has given up, and gRPC cancels the call as soon as it notices, maybe after the answer.
                raise asyncio.CancelledError
        except asyncio.CancelledError:
            if make.waiting == 1 and not make.taken:
                self._abandon(key, make)
            raise
        else:
            make.taken = True
            return reply
        finally:
            make.waiting -= 1

    def _abandon(self, key: tuple[str, bytes], make: _Make) -> None:
        """Leaves no session of a Make whose answer nobody waits for or has."""
        self._forget(key, make)
        make.task.cancel()
        make.task.add_done_callback(self._end)  # also called if it is too late to cancel it

    def _end(self, task: asyncio.Task[pb.InteractResponse]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._sessions.abandon(task.result().make.session_id)

    def _settle(self, key: tuple[str, bytes], make: _Make, task: asyncio.Task[Any]) -> None:
        """Keeps the answer of a finished Make if it made a session."""
        if task.cancelled() or task.exception() is not None or task.result().HasField("error"):
            self._forget(key, make)
            return
        make.size = task.result().ByteSize()
        kept = sum(each.size for each in self._makes.values())
        for other, each in list(self._makes.items()):
            if kept <= self._kept_bytes:
                return
            kept -= each.size
            if each.size:
                self._forget(other, each)

    def sweep(self) -> None:
        """Drops the answers for sessions that have served a request, whose clients have the answer, or have ended."""
        for key, make in list(self._makes.items()):
            if make.size and not self._sessions.is_fresh(make.task.result().make.session_id):
                self._forget(key, make)

    def _forget(self, key: tuple[str, bytes], make: _Make) -> None:
        if self._makes.get(key) is make:
            del self._makes[key]


def _digest(request: pb.MakeRequest) -> bytes:
    check_request_id(request)
    return hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
