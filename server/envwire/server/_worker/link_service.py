"""Serves the frames that arrive on the link, and takes the pictures that watchers want.

Control frames, which only the front writes, make, end and acknowledge sessions. Client frames are only ever passed to
their session.
"""

from __future__ import annotations

import contextlib
import gc
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from envwire.codec import FaultError, Reason, fault_from_exception
from envwire.codec.fastpath.attached_arrays import pieces
from envwire.envs.type_guards import is_tuple_or_list
from envwire.server._hosting.np_random import generator_state, restore_generator
from envwire.server._hosting.vector_hosts import MembersHost
from envwire.server._ipc.allocation import keep_freed_memory
from envwire.server._ipc.frames import (
    RENDER_MODE,
    STOPS_AT,
    Frame,
    FrameError,
    FrameSocket,
    Kind,
    pack_header,
    pack_picture,
    pack_reason,
)
from envwire.server._ipc.message_slots import MIN_SLOT_BYTES
from envwire.server._ipc.refusals import fault_reply, too_large
from envwire.server._session.hosted_env import WarningLog
from envwire.server._session.states import State
from envwire.server._worker.direct.service import DirectService
from envwire.server._worker.process_sessions import ProcessSessions
from envwire.server._worker.session_making import ProcessSessionMaker, Started


def take_picture(env: Any) -> bytes:
    """Renders an environment, or a vector environment's first member; returns the message for the front.

    An exception becomes the reason why there is no picture; the client, which did not ask for one, does not see it.

    Args:
        env: The environment, with its wrappers.
    """
    if env.render_mode != RENDER_MODE:
        return pack_reason(f"it was not made with render_mode={RENDER_MODE!r}")
    shown = env.members[0] if isinstance(env, MembersHost) else env
    begun = time.perf_counter()
    try:
        with _generators_kept(shown):
            rendered = shown.render()
        frame = rendered[0] if is_tuple_or_list(rendered) else rendered
        return pack_picture(frame, time.perf_counter() - begun)
    except Exception as error:
        return pack_reason(f"{type(error).__name__}: {error}", time.perf_counter() - begun)


@contextlib.contextmanager
def _generators_kept(env: Any) -> Generator[None]:
    """Restores the random generators' state afterwards, since some environments draw numbers to render."""
    state = generator_state(env.unwrapped)
    of_numpy, of_python = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        restore_generator(env.unwrapped, state)
        np.random.set_state(of_numpy)
        random.setstate(of_python)


#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_CLOSED, _REPLY = State.CLOSED, Kind.REPLY
#: How long after a picture of a session its requests pass through this process, which takes the next one between them.
_WATCHED_SECONDS = 10.0
#: The reply to a request for a session that is over or never existed.
_GONE = fault_reply(
    FaultError(
        Reason.SESSION_CLOSED,
        "the session was closed before this request was served; make the environment again to go on",
    )
).SerializeToString()


@dataclass
class LinkService:
    """Serves the front.

    Attributes:
        frames: The frames on the link.
        sessions: The sessions of the process.
        maker: Makes them.
        direct: Their direct channels.
        limit: Longest reply, in bytes.
    """

    frames: FrameSocket
    sessions: ProcessSessions
    maker: ProcessSessionMaker
    direct: DirectService
    limit: int

    def __post_init__(self) -> None:
        """Sets what serves each kind of frame."""
        self._warnings, self._served = self.sessions.warnings, self.sessions.by_number
        self._serve_kind: dict[int, Callable[[Frame], None]] = {
            Kind.CLIENT: self._serve_client,
            Kind.MAKE: partial(self._make, self.maker.make),
            Kind.COPY: partial(self._make, self.maker.copy),
            Kind.END: self._end,
            Kind.ACK: lambda _: None,
            Kind.DRAIN: self._drain,
            Kind.RENDER: self._render,
        }

    def serve(self) -> None:
        """Serves the frames that have arrived.

        Raises:
            FrameError: The front does not send such frames.
        """
        while True:
            frame = self.frames.receive()
            if frame is None:
                self.sessions.over = True
            elif serve := self._serve_kind.get(frame.kind):
                serve(frame)
            else:
                raise FrameError(f"a frame of kind {frame.kind} is none of the front's")
            if self.sessions.over or not self.frames.waiting:
                return

    def _serve_client(self, frame: Frame) -> None:
        served = self._served.get(frame.session)
        if served is None:
            self.frames.send(Kind.REPLY, frame.session, [_GONE])
            return
        if len(frame.message) >= MIN_SLOT_BYTES:
            keep_freed_memory()
        session = served.session
        self._warnings.log = session.warnings
        if served.channel is not None:
            self.direct.make_way(served)
        served.row.begin()
        packet = session.handle(frame.message, served.large)
        reply = [packet.message] if packet.attachments is None else pieces(packet)
        length = sum(map(len, reply))
        served.large = (
            length >= MIN_SLOT_BYTES
        )  # so that the next one's arrays are sent without a copy
        if length > self.limit:
            reply = [too_large(length, self.limit)]
        replied = time.monotonic_ns()
        if session.state is _CLOSED:
            self.direct.close(served)
            self.sessions.remove(served)
            behind = pack_header(Kind.CLOSED, served.number)
            self.frames.send(Kind.REPLY, served.number, reply, behind)
        else:
            self.frames.send(_REPLY, served.number, reply)
            served.row.end(session.stepping, session.steps, replied)
            if session.statistics is not None:
                session.count()

    def _make(self, start: Callable[[Frame], Started], frame: Frame) -> None:
        """Starts a session and answers the front's Make, with an error if it fails."""
        number, self._warnings.log = frame.session, WarningLog()
        try:
            served, reply = start(frame)
        except Exception as error:
            self._refuse_make(number, fault_from_exception(error))
        else:
            self._served[number] = served
            self.frames.send(Kind.REPLY, number, [reply])
            if not self.sessions.packed:
                gc.collect()
                gc.freeze()  # the collector need not scan the environment's objects again

    def _refuse_make(self, number: int, fault: FaultError) -> None:
        """Answers a failed Make with its error; the process ends unless it is shared."""
        fault.warnings = self._warnings.log.take()
        reply = fault_reply(fault).SerializeToString()
        self.frames.send(Kind.REPLY, number, [reply], pack_header(Kind.CLOSED, number))
        self.sessions.over = not self.sessions.packed

    def _end(self, frame: Frame) -> None:
        """Closes the environment of a session that the front ended."""
        served = self._served.get(frame.session)
        if served is None:  # its client has just closed it; the front will read that
            return
        self.direct.close(served)
        self.sessions.remove(served)
        self.sessions.end(served)
        self.frames.send(Kind.CLOSED, served.number)

    def _drain(self, frame: Frame) -> None:
        (self.sessions.stops_at,) = STOPS_AT.unpack(frame.message)
        for served in self._served.values():  # so that their clients are told
            self.direct.make_way(served)

    def _render(self, frame: Frame) -> None:
        """Takes a picture for a watcher. It has no request number, and its warnings are dropped."""
        served = self._served.get(frame.session)
        if served is None:  # it is over; the front will read that
            return
        self._warnings.log = WarningLog()
        env = served.session.hosted.env
        if env.render_mode == RENDER_MODE:
            served.watched_until = time.monotonic() + _WATCHED_SECONDS
            self.direct.make_way(served)
        picture = take_picture(env)
        self.frames.send(Kind.RENDERED, served.number, [picture])
