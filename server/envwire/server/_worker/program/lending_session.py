"""A session whose program serves the connection of its client itself, and numbers requests itself.

So a step passes through no other process. Here arrives what needs the server (attributes with its rules, replays, the
close), what comes over gRPC, and what comes while the connection cannot be lent.
"""

from __future__ import annotations

from typing import Any

from envwire.codec import FaultError
from envwire.server._session.states import State
from envwire.server._worker.program.loan import MAILBOX, Counted
from envwire.server._worker.program.session import ProgramSession
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Attachments, Packet

#: Optional features that such a program brings itself.
_FEATURES = ("ahead", "chunk", "replay", "save_state")
#: The program could count anything: a difference beyond this one is none.
_MOST_COUNTED = 2**40


class LendingSession(ProgramSession):
    """See above."""

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
