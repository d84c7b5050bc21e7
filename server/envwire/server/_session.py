"""A session: one environment, driven message by message, exactly once each. No I/O happens here.

Every request carries a number, one more than the last. The last reply is kept: a repeated number gets it again and
changes nothing, so a client that lost a reply simply asks again. A request that cannot be served uses its number up as
well; its error is the reply that is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from envwire.codec import (
    Family,
    FaultError,
    Reason,
    encode_warnings,
    fault_from_exception,
)
from envwire.server._faults import fault_reply
from envwire.server._operations import OPERATIONS, Hosted
from envwire.server._states import Event, State, move
from envwire.v1 import environment_pb2


class WarningLog:
    """Collects the warnings that an environment gives, for the client to give again.

    It is installed in session processes only: there, nobody else is there to read them.
    """

    def __init__(self) -> None:
        self._given: list[tuple[type[Warning], str]] = []

    @contextmanager
    def installed(self) -> Generator[None]:
        """Takes over how warnings are shown; filtering is left to the client's process."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._record
            yield

    def _record(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        self._given.append((category, str(message)))

    def take(self) -> list[tuple[type[Warning], str]]:
        """Returns the warnings given since the last call."""
        given, self._given = self._given, []
        return given


class Session:
    """One environment and the order of its requests.

    Args:
        env: The environment, in its wrappers.
        family: The library whose classes it speaks.
        warning_log: Where its warnings are collected.
    """

    def __init__(self, env: Any, family: Family, warning_log: WarningLog | None = None) -> None:
        self.state = State.READY
        self._hosted = Hosted(env, family)
        self._warnings = warning_log or WarningLog()
        self._sequence = 0
        self._request: environment_pb2.InteractRequest | None = None
        self._reply = environment_pb2.InteractResponse()

    def handle(self, request: environment_pb2.InteractRequest) -> environment_pb2.InteractResponse:
        """Serves one request; whatever goes wrong is in the reply.

        Only what ends a process passes through: SystemExit, KeyboardInterrupt, and deaths that no code sees.
        """
        kind = request.WhichOneof("request")
        operation = OPERATIONS.get(kind or "")
        if kind is None or operation is None:
            return fault_reply(_not_for_a_session(kind))
        body = getattr(request, kind)
        if body.sequence != self._sequence + 1:
            return self._answer_out_of_order(request, body.sequence)
        self._sequence += 1
        self._request = request
        self._reply = self._serve(operation, body)
        if kind == "close":  # it is over even when the environment raised while it closed
            self.state = move(self.state, Event.CLOSE)
        return self._reply

    def abandon(self) -> None:
        """Closes the environment of a session that nobody closed."""
        if self.state is not State.CLOSED:
            self.state = move(self.state, Event.CLOSE)
            self._hosted.env.close()

    def _serve(self, operation: Any, body: Any) -> environment_pb2.InteractResponse:
        reply = environment_pb2.InteractResponse()
        try:
            event: Event | None = operation(self._hosted, body, reply)
        except FaultError as fault:
            return fault_reply(fault)
        except Exception as error:
            return fault_reply(fault_from_exception(error, Reason.INTERNAL))
        if event is not None:
            self.state = move(self.state, event)
        if given := self._warnings.take():
            encode_warnings(given, getattr(reply, reply.WhichOneof("response") or "").warnings)
        return reply

    def _answer_out_of_order(
        self, request: environment_pb2.InteractRequest, sequence: int
    ) -> environment_pb2.InteractResponse:
        if sequence != self._sequence or self._request is None:
            return fault_reply(
                FaultError(
                    Reason.SEQUENCE_GAP,
                    f"request number {sequence} came where {self._sequence + 1} is next; number the requests of a "
                    "session from 1, one by one, and repeat only the last",
                    metadata={"expected": str(self._sequence + 1)},
                )
            )
        if request != self._request:
            return fault_reply(
                FaultError(
                    Reason.SEQUENCE_REUSED,
                    f"request number {sequence} was used for another request; give each request a number of its own",
                )
            )
        return self._reply


def _not_for_a_session(kind: str | None) -> FaultError:
    found = f"a {kind} request" if kind else "a request without content"
    return FaultError(
        Reason.MALFORMED_REQUEST,
        f"{found} cannot be served by a session; send one of {', '.join(OPERATIONS)}",
    )
