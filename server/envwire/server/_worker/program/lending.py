"""A session whose program serves the connection of its client itself, and numbers requests itself.

The connection is lent to the program, so a step passes through no other process. Here arrives what needs the server
(attributes with its rules, replays, the close), what comes over gRPC, and what comes while the connection cannot be
lent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from envwire.codec import FaultError
from envwire.server._session.states import State
from envwire.server._worker.direct.channel import Channel
from envwire.server._worker.poller import Poller
from envwire.server._worker.process_sessions import ServedSession
from envwire.server._worker.program.loan import MAILBOX, Counted, Returned
from envwire.server._worker.program.program_session import ProgramSession
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Attachments, Packet

#: Optional features that such a program brings itself.
_FEATURES = ("ahead", "chunk", "replay", "save_state")
#: The program could count anything: a difference beyond this one is none.
_MOST_COUNTED = 2**40


class LendingSession(ProgramSession):
    """A session whose program serves its client's connection while that is lent."""

    _noted = 0  # number of the last request that was counted
    _counted = Counted()

    @property
    def uses_mailbox(self) -> bool:
        """Whether the program uses the mailbox of a connection."""
        return MAILBOX in self.made.capabilities

    @property
    def capabilities(self) -> list[str]:
        """Those of the program."""
        return [name for name in self.made.capabilities if name in _FEATURES]

    def count_lent(self) -> None:
        """Takes over what the program counted on lent connections."""
        now, last = self.program.counted(), self._counted
        requests = _difference(now.requests, last.requests)
        serving = _difference(now.serving, last.serving)
        self._counted = now
        self._noted += requests
        self.stepping += serving
        self.steps += _difference(now.steps, last.steps) * self._steps_at_once
        if self.counts is not None:
            self.counts.add_served(now.begun, requests, serving, self.stepping, self.steps)

    def _serve_numbered(self, raw: bytes, kind: str, body: Any, attach: bool) -> Packet:
        """Has the program answer, whatever the number."""
        del raw, attach
        reply = self._guarded(self._serve, kind, body, None)
        if kind == "close":  # the session is over even if closing raised
            self.state = State.CLOSED
            self.program.leave()
        return reply

    def _serve(self, kind: str, body: Any, attachments: Attachments | None) -> Packet:
        del attachments
        try:
            if (hidden := self._hidden(kind, body)) is None:
                return self._pass_on(kind, body)
        except FaultError:
            self._use_up(body.sequence)
            raise
        self._use_up(body.sequence)
        return hidden

    def _use_up(self, sequence: int) -> None:
        """Has the program count a request that it does not get."""
        unasked = pb.GetAttributeRequest(sequence=sequence, probe=True)
        self.program.ask(pb.InteractRequest(get_attribute=unasked).SerializeToString())

    def _numbered(self, kind: str, body: Any) -> bytes:
        del kind, body
        return self._raw

    def _answer_own(self, kind: str, body: Any) -> bytes:
        return self.program.ask(pb.InteractRequest(**{kind: body}).SerializeToString(), own=True)

    def _note(self, kind: str, body: Any, response: pb.InteractResponse) -> None:
        if body.sequence > self._noted:
            self._noted = body.sequence
            super()._note(kind, body, response)
        elif self.counts is not None:
            self.counts.add_repeat()


def _difference(now: int, last: int) -> int:
    return now - last if 0 <= now - last < _MOST_COUNTED else 0


#: Pause between two looks at what a program has counted: the front learns from it what steps, and what hangs.
_COUNT_SECONDS = 0.1
#: Called with a connection that a program gave back.
GivenBack = Callable[[Returned], None]


class Lending:
    """The connections of a process that are lent.

    Args:
        poller: The poller that watches channels, and programs in place of channels that are lent.
    """

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._lent: dict[ServedSession, LendingSession] = {}

    def may_lend(self, served: ServedSession) -> bool:
        """Returns whether a session's program takes connections."""
        return isinstance(served.session, LendingSession)

    def lend(self, served: ServedSession, channel: Channel, given_back: GivenBack) -> None:
        """Lends a session's program the connection, unless something has come on it, or the program takes none.

        Args:
            served: The session.
            channel: Its channel, which is watched.
            given_back: Called when the program gives it back, and nothing is watched.
        """
        session, lendable = served.session, channel.lendable()
        if lendable is None or not isinstance(session, LendingSession):
            return
        if not session.program.lend(lendable):
            return
        self._poller.unwatch(channel.fileno())
        self._lent[served] = session
        take_back = partial(self._take_back, served, given_back)
        self._poller.watch(session.program.fileno(), take_back)
        self._count(session)

    def recall(self, served: ServedSession) -> Returned | None:
        """Takes a connection back after the request that its program is serving; returns None if it is not lent."""
        session = self._lent.get(served)
        if session is None:
            return None
        returned = session.program.recall()
        self._end(served, session)
        return returned

    def forget(self, served: ServedSession) -> bool:
        """Stops waiting for a connection, which the caller closes; returns whether it was lent."""
        session = self._lent.get(served)
        if session is not None:
            self._end(served, session)
        return session is not None

    def _end(self, served: ServedSession, session: LendingSession) -> None:
        del self._lent[served]
        self._poller.unwatch(session.program.fileno())
        session.count_lent()

    def _count(self, session: LendingSession) -> None:
        session.count_lent()
        again = partial(self._count, session)
        self._poller.remind(session.program.fileno(), _COUNT_SECONDS, again)

    def _take_back(self, served: ServedSession, given_back: GivenBack) -> None:
        session = self._lent[served]
        returned = session.program.given_back()
        self._end(served, session)
        given_back(returned)
