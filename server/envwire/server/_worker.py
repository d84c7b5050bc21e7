"""The session process: reads requests, lets the session serve them, writes replies. It knows nothing but frames.

It leaves by `os._exit`: it was forked, and the exit handlers that it inherited are its parent's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback
from typing import NoReturn

from envwire.codec import FaultError, Reason, encode_warnings, fault_from_exception
from envwire.server._faults import fault_reply
from envwire.server._frames import FrameSocket, send_frame
from envwire.server._libraries import Catalogue
from envwire.server._making import describe, make_environment
from envwire.server._session import Session, WarningLog
from envwire.server._states import State
from envwire.v1 import environment_pb2


class Worker:
    """Serves one session on one socket.

    Args:
        link: Connected, blocking socket to the front.
        catalogue: What can be made.
        max_message_bytes: Largest reply that is sent.
    """

    def __init__(self, link: socket.socket, catalogue: Catalogue, max_message_bytes: int) -> None:
        self._link = link
        self._catalogue = catalogue
        self._limit = max_message_bytes
        self._warnings = WarningLog()
        self._session: Session | None = None

    def run(self) -> None:
        """Serves requests until the session closes or the front is gone."""
        with self._warnings.installed():
            with contextlib.suppress(ConnectionError):  # the front ended the link under a request
                self._serve()
            if self._session is not None:
                self._session.abandon()

    def _serve(self) -> None:
        frames = FrameSocket(self._link)
        while (raw := frames.receive()) is not None:
            self._send(self._answer(raw))
            if self._finished():
                return

    def _finished(self) -> bool:
        # A session that could not be made is no session: its process goes once the reason is told.
        return self._session is None or self._session.state is State.CLOSED

    def _answer(self, raw: bytes) -> bytes:
        if self._session is None:
            return self._make(raw).SerializeToString()
        return self._session.handle(raw)

    def _make(self, raw: bytes) -> environment_pb2.InteractResponse:
        reply = environment_pb2.InteractResponse()
        try:
            request = environment_pb2.InteractRequest.FromString(raw)
            env, family = make_environment(self._catalogue, request.make)
            reply.make.CopyFrom(describe(env, family))
        except FaultError as fault:
            return fault_reply(fault)
        except Exception as error:
            return fault_reply(fault_from_exception(error))
        encode_warnings(self._warnings.take(), reply.make.warnings)
        self._session = Session(env, family, self._warnings)
        return reply

    def _send(self, reply: bytes) -> None:
        if len(reply) > self._limit:
            reply = fault_reply(
                FaultError(
                    Reason.MESSAGE_TOO_LARGE,
                    f"the reply of {len(reply)} bytes exceeds the server's limit of {self._limit}; the operator "
                    "raises it with --max-message-bytes",
                )
            ).SerializeToString()
        send_frame(self._link, reply)


def run_and_exit(worker: Worker) -> NoReturn:
    """Runs the worker and ends the process with the status that Python itself would end with."""
    status = 1
    try:
        worker.run()
        status = 0
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1
