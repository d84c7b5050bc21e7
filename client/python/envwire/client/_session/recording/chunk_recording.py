"""Records chunks of actions as single steps, so that a replay does not depend on how they were split."""

from __future__ import annotations

from collections.abc import Iterator

from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply


def split_chunk(request: bytes, reply: Reply) -> Iterator[tuple[bytes, Reply]]:
    """Yields a Step with one action and its answer, for each action of a chunk that was taken or failed."""
    asked = pb.InteractRequest.FromString(request).step
    answer = pb.InteractResponse.FromString(reply.message).step
    answers = [pb.InteractResponse(step=step) for step in answer.steps]
    if answer.HasField("error"):
        answers.append(pb.InteractResponse(error=answer.error))
    for index, (action, each) in enumerate(zip(asked.actions, answers, strict=False)):
        step = pb.StepRequest(action=action, mirror_np_random=asked.mirror_np_random)
        if index == 0 and asked.HasField("np_random"):
            step.np_random.CopyFrom(asked.np_random)
        one = pb.InteractRequest(step=step)
        yield one.SerializeToString(), Reply(each.SerializeToString())
