"""One remote session: numbered requests out, decoded answers back. It knows nothing of spaces or the Env API."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration

from envwire.client._recording import Recording, RecordingTransport
from envwire.client._resuming import ResumingTransport
from envwire.client._transport import Transport
from envwire.client.errors import InvalidRequestError, ReplayError, exception
from envwire.codec import (
    CodecError,
    Family,
    Reason,
    decode_fault,
    decode_mapping,
    decode_value,
    decode_warnings,
    encode_mapping,
    encode_value,
    encode_values,
    envwire_family,
)
from envwire.codec.frames import Area, Reply
from envwire.codec.steps import StepRequestWriter, StepResponseReader, StepResult
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2, status_pb2

#: Seconds to wait for an environment to be made, when the caller sets no timeout: more than a server allows by default.
MAKE_SECONDS = 180.0
#: Seconds to wait beyond the server's own limit, whose error says more than a timeout here.
_SLACK_SECONDS = 10.0


Answer = tuple[pb.InteractResponse, "Area | None"]


class RemoteSession:
    """A session on a server.

    Args:
        transport: How to reach the server.
        family: Classes to build spaces and errors of.
        timeout: Seconds to wait for a reply; None for a little more than the server allows itself.
        label: Shown as the place of warnings that the environment gave.
        recording: Takes what changes the environment; None to record nothing.
    """

    def __init__(
        self,
        transport: Transport,
        family: Family,
        timeout: float | None,
        label: str,
        recording: Recording | None = None,
    ) -> None:
        self._transport = (
            ResumingTransport(transport, label)
            if recording is None
            else RecordingTransport(transport, label, recording)
        )
        self._resuming: ResumingTransport = self._transport
        self._family = family
        self._timeout = timeout
        self._label = label
        self._lock = threading.Lock()
        self._warned: dict[str | tuple[Any, ...], Any] = {}
        self._id = ""
        self._secret = b""
        self._sequence = 0
        self._in_doubt = False
        self._writer = StepRequestWriter("", b"")
        self._reader = StepResponseReader(family)
        self._wait = timeout or MAKE_SECONDS
        self.lease = 0.0
        self.pid = os.getpid()

    def make(self, request: pb.MakeRequest) -> pb.MakeResponse:
        """Makes the environment.

        Raises:
            RemoteError: The server refused, or the environment could not be made.
        """
        raw = pb.InteractRequest(make=request).SerializeToString()
        reply, _ = parsed(self._transport.exchange(raw, self._wait))
        made = reply.make
        self._id, self._secret = made.session_id, made.secret
        self._writer = StepRequestWriter(self._id, self._secret)
        self.lease = self._transport.lease = _seconds(made.lease)
        if self._timeout is None:
            self._wait = _seconds(made.step_timeout) + _SLACK_SECONDS
        self._check(reply)
        return made

    def reset(
        self,
        seed: Any,
        options: Mapping[Any, Any] | None,
        random_state: spaces_pb2.RandomState | None,
        mirror: bool,
    ) -> tuple[tuple[Any, dict[Any, Any]], pb.RandomMirror | None]:
        """Starts an episode; returns ((observation, info), the generator's mirror)."""
        request = pb.InteractRequest()
        body = request.reset
        if seed is not None:
            encoded(encode_value, seed, body.seed, "seed")
        if options is not None:
            body.options.SetInParent()
            encoded(encode_mapping, options, body.options, "options")
        _mirror(body, random_state, mirror)
        answer, area = self._ask(request, body)
        reply = answer.reset
        observation = decode_value(reply.observation, self._family, area=area)
        info = decode_mapping(reply.info, self._family, area=area)
        return (observation, info), reply.random if mirror else None

    def step(
        self, action: Any, random_state: spaces_pb2.RandomState | None, mirror: bool
    ) -> tuple[StepResult, pb.RandomMirror | None]:
        """Takes a step; returns (the five of `Env.step`, the generator's mirror)."""
        reply = None if mirror else self._step_as_usual(action)
        if reply is None:
            request = pb.InteractRequest()
            body = request.step
            encoded(encode_value, action, body.action, "action")
            _mirror(body, random_state, mirror)
            answer, area = self._ask(request, body)
        elif (result := self._reader.read(*reply)) is not None:
            return result, None
        else:
            answer, area = parsed(reply)
            self._check(answer)
        step = answer.step
        return self._step_result(step, area), step.random if mirror else None

    def _step_as_usual(self, action: Any) -> Reply | None:
        """Sends the usual step without building a message; returns None, and sends nothing, when it is another one."""
        with self._lock:
            if self._in_doubt:
                return None
            raw = self._writer.write(self._sequence + 1, action)
            if raw is None:
                return None
            self._sequence += 1
            self._in_doubt = True
            reply = self._transport.exchange(raw, self._wait)
            self._in_doubt = False
            return reply

    def _step_result(self, step: pb.StepResponse, area: Area | None) -> StepResult:
        family, has = self._family, step.HasField
        return (
            decode_value(step.observation, family, area=area),
            decode_value(step.typed_reward, family) if has("typed_reward") else step.reward,
            decode_value(step.typed_terminated, family)
            if has("typed_terminated")
            else step.terminated,
            decode_value(step.typed_truncated, family)
            if has("typed_truncated")
            else step.truncated,
            decode_mapping(step.info, family, area=area),
        )

    def render(self) -> Any:
        """Returns a frame."""
        request = pb.InteractRequest()
        reply, area = self._ask(request, request.render)
        return decode_value(reply.render.frame, self._family, area=area)

    def get_attribute(self, name: str, members: Sequence[int] = ()) -> tuple[Any, bool]:
        """Returns (the value, whether it is a method instead); of these members of a vector environment."""
        request = pb.InteractRequest()
        request.get_attribute.name = name
        request.get_attribute.members.extend(members)
        answer, area = self._ask(request, request.get_attribute)
        reply = answer.get_attribute
        method = reply.WhichOneof("result") == "callable"
        return (None if method else decode_value(reply.value, self._family, area=area)), method

    def get_random(self, name: str) -> pb.RandomMirror:
        """Returns the mirror of the environment's generator, which reading "np_random" creates when there is none."""
        request = pb.InteractRequest()
        request.get_attribute.name = name
        return self._ask(request, request.get_attribute)[0].get_attribute.random

    def has_attribute(self, name: str) -> bool:
        """Returns whether the attribute exists."""
        request = pb.InteractRequest()
        request.get_attribute.name, request.get_attribute.probe = name, True
        return self._ask(request, request.get_attribute)[0].get_attribute.exists

    def set_attribute(
        self, name: str, value: Any, force: bool, members: Sequence[int] = ()
    ) -> bool:
        """Sets an attribute, on these members of a vector environment; returns whether it was set."""
        request = pb.InteractRequest()
        body = request.set_attribute
        body.members.extend(members)
        body.name, body.force = name, force
        encoded(encode_value, value, body.value, name)
        return self._ask(request, body)[0].set_attribute.set

    def call_method(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        members: Sequence[int] = (),
    ) -> Any:
        """Calls a method, of these members of a vector environment, and returns its result."""
        request = pb.InteractRequest()
        body = request.call_method
        body.members.extend(members)
        body.name = name
        encoded(encode_values, args, body.args, "args")
        encoded(encode_mapping, kwargs, body.kwargs, "kwargs")
        answer, area = self._ask(request, body)
        return decode_value(answer.call_method.result, self._family, area=area)

    def replay(self, recording: Recording) -> None:
        """Brings the environment to where a recording ends.

        Raises:
            ReplayMismatchError: It went another way.
            ReplayError: It cannot be replayed here.
        """
        served = 0
        while served < len(recording):
            request = pb.InteractRequest()
            recording.part(served, request.replay)
            answer = self._ask(request, request.replay)[0].replay
            recording.check(served, answer)
            if answer.served <= served:
                raise ReplayError(f"the server served none of the requests from {served} on")
            served = answer.served

    def save_state(self) -> int:
        """Keeps the environment's state in the session and returns its number."""
        request = pb.InteractRequest()
        return self._ask(request, request.save_state)[0].save_state.state

    def restore_state(self, state: int) -> None:
        """Brings the environment back to a state."""
        request = pb.InteractRequest()
        request.restore_state.state = state
        self._ask(request, request.restore_state)

    @property
    def reference(self) -> pb.SessionReference:
        """Names the session to its server."""
        return pb.SessionReference(session_id=self._id, secret=self._secret)

    @property
    def resumed(self) -> int:
        """Returns how often the session went on after its connection broke."""
        return self._resuming.resumed

    def keep_alive(self) -> None:
        """Renews the lease, without waiting."""
        request = pb.InteractRequest()
        request.renew_lease.session_id, request.renew_lease.secret = self._id, self._secret
        self._transport.keep_alive(request.SerializeToString())

    def stats(self) -> pb.GetSessionStatsResponse:
        """Returns how the session's time was spent on the server."""
        request = pb.InteractRequest()
        body = request.get_session_stats
        body.session_id, body.secret = self._id, self._secret
        reply, _ = self._exchange(request)
        self._check(reply)
        return reply.get_session_stats

    def close(self, timeout: float | None = None) -> None:
        """Closes the environment and frees the transport.

        Args:
            timeout: Seconds that it may take in all; by default as long as any request.

        Raises:
            RemoteError: The environment was not closed, or told an error; the transport is freed all the same.
        """
        self._wait = self._wait if timeout is None else min(self._wait, timeout)
        try:
            if self._id and self._lock.acquire(timeout=self._wait):
                self._lock.release()
                self._transport.end()
                request = pb.InteractRequest()
                self._ask(request, request.close)
        finally:
            self._transport.close()

    def drop(self) -> None:
        """Frees the transport of a session that is gone."""
        self._transport.close()

    def _ask(self, request: pb.InteractRequest, body: Any) -> Answer:
        """Numbers a request of the session, sends it, and returns the answer and what is attached to it."""
        with self._lock:
            body.session_id, body.secret = self._id, self._secret
            reply, area = self._send_numbered(request, body)
        self._check(reply)
        return reply, area

    def _send_numbered(self, request: pb.InteractRequest, body: Any) -> Answer:
        """Sends a request under the next number.

        When an earlier request failed on its way, nobody here knows whether its number was used. The server does: if it
        was not, the server asks for that number, and gets this request under it.
        """
        self._sequence += 1
        body.sequence = self._sequence
        in_doubt, self._in_doubt = self._in_doubt, True
        answer = self._exchange(request)
        self._in_doubt = False
        if in_doubt and (expected := _expected(answer[0])):
            self._sequence = body.sequence = expected
            answer = self._exchange(request)
        return answer

    def _exchange(self, request: pb.InteractRequest) -> Answer:
        return parsed(self._transport.exchange(request.SerializeToString(), self._wait))

    def _check(self, reply: pb.InteractResponse) -> None:
        """Raises the error that a reply holds, and gives the warnings that it carries."""
        kind = reply.WhichOneof("response")
        if kind == "error":
            raise exception(decode_fault(reply.error, self._family), self._family)
        given = getattr(getattr(reply, kind or ""), "warnings", ())
        if given:
            self._warn(given)

    def _warn(self, given: Iterable[status_pb2.Warning]) -> None:
        """Gives the environment's warnings here, where this program's filters apply to them."""
        for category, text in decode_warnings(given):
            warnings.warn_explicit(text, category, self._label, 0, "envwire.remote", self._warned)


def encoded(encode: Callable[..., None], value: Any, message: Any, path: str) -> None:
    """Writes a value into a request.

    Raises:
        InvalidRequestError: It has no wire form.
    """
    try:
        encode(value, message, path)
    except CodecError as error:
        raise InvalidRequestError(str(error)) from error


def parsed(reply: Reply) -> Answer:
    """Reads a reply; whether it holds an error is for the caller to see."""
    return pb.InteractResponse.FromString(reply.message), reply.area


def _mirror(
    body: pb.ResetRequest | pb.StepRequest,
    state: spaces_pb2.RandomState | None,
    mirror: bool,
) -> None:
    body.mirror_np_random = mirror
    if state is not None:
        body.np_random.CopyFrom(state)


def _expected(reply: pb.InteractResponse) -> int | None:
    """Returns the number that a server asked for instead of the one it got."""
    if not reply.HasField("error"):
        return None
    fault = decode_fault(reply.error, envwire_family())
    return int(fault.metadata["expected"]) if fault.reason is Reason.SEQUENCE_GAP else None


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
