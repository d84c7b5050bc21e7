"""Chunks: the actions of several steps in one request, each applied like a step of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from envwire.codec import FaultError, Reason, encode_fault, fault_from_exception
from envwire.server._grammar import counted
from envwire.server._ipc.refusals import reply_too_large
from envwire.server._session.hosted_env import HostedEnv
from envwire.server._session.replay import PART_SECONDS
from envwire.server._session.states import State
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

#: Largest number of actions in a chunk.
MAX_ACTIONS = 1024
#: An answer that grows beyond this is sent before all steps are taken; the client requests the rest.
PART_BYTES = 1024 * 1024

#: Takes the step of an action, writes its result, and returns the session's state.
TakeStep = Callable[[Any, pb.StepResponse], State]
#: The actions of a chunk up to the first invalid one, and the fault of that one, if any.
Readable = tuple[list[Any], FaultError | None]


def read_chunk(hosted: HostedEnv, request: pb.StepRequest) -> Readable:
    """Returns the actions of a chunk.

    Raises:
        FaultError: The first action or the generator is invalid, or there are too many actions.
    """
    if len(request.actions) > MAX_ACTIONS or request.HasField("action"):
        raise FaultError(
            Reason.INVALID_VALUE,
            f"a chunk of {counted(len(request.actions), 'action')}; send {MAX_ACTIONS} at most, and no `action` beside "
            "them",
        )
    actions, fault = _readable(hosted, request.actions)
    if fault is not None and not actions:
        raise fault
    hosted.restore_generator(request)
    return actions, fault


def _readable(hosted: HostedEnv, values: Iterable[values_pb2.Value]) -> Readable:
    actions: list[Any] = []
    try:
        actions.extend(hosted.read_each(values))
    except FaultError as fault:
        return actions, fault
    return actions, None


def take_chunk(
    take_step: TakeStep, chunk: Readable, response: pb.StepResponse, max_bytes: int | None
) -> None:
    """Takes the steps of a chunk until the episode ends, a step fails, or it is time to answer.

    Args:
        take_step: Takes one step.
        chunk: Its actions.
        response: Message to write the answers into.
        max_bytes: Limit of all answers together, in bytes; with a limit the chunk also stops when it takes long. None
            for a recorded chunk, which must stop where it stopped when it was recorded.

    Raises:
        FaultError: The first step failed. A later failure is written after the answers of the steps before.
    """
    fault = _take_each(take_step, chunk, response, max_bytes)
    if fault is not None and not response.steps:
        raise fault
    if fault is not None:
        encode_fault(fault, response.error)


def _take_each(
    take_step: TakeStep, chunk: Readable, response: pb.StepResponse, max_bytes: int | None
) -> FaultError | None:
    actions, unreadable = chunk
    until = time.monotonic() + PART_SECONDS
    for action in actions:
        step = pb.StepResponse()
        try:
            state = take_step(action, step)
        except Exception as error:
            return fault_from_exception(error, Reason.INTERNAL)
        response.steps.append(step)
        if max_bytes is not None and (fault := _drop_too_large(response, max_bytes)) is not None:
            return fault
        if state is State.ENDED or (max_bytes is not None and _is_due(response, until)):
            return None
    return unreadable


def _drop_too_large(response: pb.StepResponse, limit: int) -> FaultError | None:
    """Removes the last step if it made the answer too large, so that the earlier steps are not lost."""
    length = response.ByteSize()
    if length <= limit or len(response.steps) < 2:
        return None
    del response.steps[-1]
    return reply_too_large(length, limit)


def _is_due(response: pb.StepResponse, until: float) -> bool:
    return time.monotonic() > until or response.ByteSize() > PART_BYTES
