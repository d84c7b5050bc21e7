"""One remote session: what it can be asked, and its answers decoded. It knows nothing of spaces or the Env API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envwire.client._session.conversation import Conversation, parsed
from envwire.client._session.recording import Recording
from envwire.client._session.requests import encoded
from envwire.client._transports.transport import Transport
from envwire.client.errors import ReplayError, exception
from envwire.codec import (
    Family,
    decode_fault,
    decode_mapping,
    decode_value,
    encode_mapping,
    encode_value,
    encode_values,
)
from envwire.codec.fastpath.steps import StepRequestWriter, StepResponseReader, StepResult
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.frames import Area, Reply


class RemoteSession(Conversation):
    """A session on a server; for its arguments see `Conversation`."""

    def __init__(
        self,
        transport: Transport,
        family: Family,
        timeout: float | None,
        label: str,
        recording: Recording | None = None,
    ) -> None:
        super().__init__(transport, family, timeout, label, recording)
        self._writer = StepRequestWriter()
        self._reader = StepResponseReader(family)

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

    def step_many(self, actions: Sequence[Any]) -> tuple[list[StepResult], BaseException | None]:
        """Takes steps in one request; returns what each that was taken led to, and what the next one failed with.

        Fewer may be taken than were asked for without an error: the rest is for another request.
        """
        request = pb.InteractRequest()
        for index, action in enumerate(actions):
            encoded(encode_value, action, request.step.actions.add(), f"actions[{index}]")
        step = self._ask(request, request.step)[0].step
        results = [self._step_result(each, None) for each in step.steps]
        if not step.HasField("error"):
            return results, None
        return results, exception(decode_fault(step.error, self._family), self._family)

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


def _mirror(
    body: pb.ResetRequest | pb.StepRequest,
    state: spaces_pb2.RandomState | None,
    mirror: bool,
) -> None:
    body.mirror_np_random = mirror
    if state is not None:
        body.np_random.CopyFrom(state)
