"""A session whose requests are halves: begun here, finished there. In between, other sessions work at the same time."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from envwire.client._session.conversation import parsed
from envwire.client._session.recording import Recording
from envwire.client._session.remote_session import RemoteSession
from envwire.client._session.requests import encoded
from envwire.client._transports.transport import Transport
from envwire.client.errors import (
    ServerUnavailableError,
    SessionClosedError,
    SessionLostError,
)
from envwire.codec import (
    Family,
    decode_mapping,
    decode_random_state,
    decode_value,
    encode_mapping,
    encode_value,
)
from envwire.codec.fastpath.batches import BatchResponseReader
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area, Reply

#: What says that a session is no more.
LOST = (SessionLostError, SessionClosedError, ServerUnavailableError)

Read = Callable[[Reply], Any]


class VectorSession(RemoteSession):
    """A session of a vector environment; for its arguments see `RemoteSession`."""

    def __init__(
        self,
        transport: Transport,
        family: Family,
        timeout: float | None,
        label: str,
        recording: Recording | None = None,
    ) -> None:
        super().__init__(transport, family, timeout, label, recording)
        self._reader = BatchResponseReader(family)
        #: Reads the reply that is still to come; None when there is none.
        self._read: Read | None = None

    def begin_step(self, actions: Any) -> None:
        """Sends a step; `finish` returns the five of `VectorEnv.step`."""
        self._settle()
        raw = None if self._in_doubt else self._writer.write(self._sequence + 1, actions)
        if raw is None:
            request = pb.InteractRequest()
            encoded(encode_value, actions, request.step.action, "actions")
            self._begin(request, request.step, self._read_step)
        else:
            self._sequence += 1
            self._send(raw, self._read_step)

    def begin_reset(
        self,
        seed: Any,
        options: Mapping[Any, Any] | None,
        member_options: Sequence[Mapping[Any, Any]] = (),
    ) -> None:
        """Sends a reset; `finish` returns observations and infos.

        Args:
            seed: None, a number that grows by one from environment to environment, or one for each.
            options: Options of all.
            member_options: Options of each, in place of those of all.
        """
        self._settle()
        request = pb.InteractRequest()
        body = request.reset
        if seed is not None:
            encoded(encode_value, seed, body.seed, "seed")
        if options is not None:
            body.options.SetInParent()
            encoded(encode_mapping, options, body.options, "options")
        for each in member_options:
            encoded(encode_mapping, each, body.member_options.add(), "options")
        body.SetInParent()
        self._begin(request, body, self._read_reset)

    def begin_close(self) -> None:
        """Sends a close; `finish` returns nothing of use."""
        self._settle()
        request = pb.InteractRequest()
        request.close.SetInParent()
        self._begin(request, request.close, self._read_answer)

    def finish(self) -> Any:
        """Waits for the reply to what was begun, and returns what it says.

        Raises:
            RemoteError: The session cannot serve it, or ended.
            Exception: Whatever the environment raised.
        """
        read = self._read
        assert read is not None, "nothing was begun"  # noqa: S101 - a fault of ours
        with self._lock:
            self._read = None
            reply = self._transport.receive()
            self._in_doubt = False
        return read(reply)

    def fileno(self) -> int:
        """Returns what is readable once `finish` need not wait; -1 where only `finish` can tell."""
        return self._transport.fileno()

    def offer(self, place: Area) -> None:
        """Says where a large observation of the next reply may go, to be received there and not copied."""
        self._transport.offer(place)

    @property
    def timeout(self) -> float:
        """Seconds to wait for a reply."""
        return self._wait

    def get_generators(self) -> list[Any]:
        """Returns the generators as they are now: one for each member, or one for all."""
        request = pb.InteractRequest()
        request.get_attribute.name = "np_random"
        answer = self._ask(request, request.get_attribute)[0].get_attribute
        mirrors = answer.member_random or [answer.random]
        return [decode_random_state(mirror.np_random) for mirror in mirrors]

    def close(self, timeout: float | None = None) -> None:
        """Closes the environments and frees the transport (see `RemoteSession.close`).

        One that is abandoned in the middle of a request is left to its lease if the reply is not there yet.
        """
        if self._read is not None and timeout is not None and not self._replied(timeout):
            self._transport.close()
            return
        self._settle()
        super().close(timeout)

    def _replied(self, timeout: float) -> bool:
        if (descriptor := self.fileno()) < 0:
            return False
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def _settle(self) -> None:
        """Takes the reply that nobody asked for, because what was to be done with it was interrupted."""
        if self._read is not None:
            self._read = parsed
            self.finish()

    def _begin(self, request: pb.InteractRequest, body: Any, read: Read) -> None:
        """Numbers a request and sends it."""
        if self._in_doubt:  # rare: the server has to be asked for the number first
            self._resolve()
        self._sequence += 1
        body.sequence = self._sequence
        self._send(request.SerializeToString(), read)

    def _resolve(self) -> None:
        """Finds out whether the number of the last request was used, by a request that changes nothing."""
        self.has_attribute("num_envs")

    def _send(self, raw: bytes, read: Read) -> None:
        with self._lock:
            self._in_doubt = True
            self._transport.send(raw, self._wait)
            self._read = read

    def _read_answer(self, reply: Reply) -> pb.InteractResponse:
        answer, _ = parsed(reply)
        self._check(answer)
        return answer

    def _read_step(self, reply: Reply) -> Any:
        result = self._reader.read(*reply)
        if result is not None:
            return result
        answer = self._read_answer(reply)
        return self._step_result(answer.step, reply.area)

    def _read_reset(self, reply: Reply) -> Any:
        reset = self._read_answer(reply).reset
        observations = decode_value(reset.observation, self._family, area=reply.area)
        return observations, decode_mapping(reset.info, self._family, area=reply.area)
