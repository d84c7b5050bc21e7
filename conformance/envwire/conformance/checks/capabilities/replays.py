"""Replay, and the digest of its answers."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb


def recorded(session: Session, kind: str, **fields: Any) -> bytes:
    """Returns a request in the form that recordings have."""
    return session.request(kind, 0, **fields).SerializeToString()


def _reset(session: Session, seed: int) -> bytes:
    return recorded(session, "reset", seed=integer(seed))


def _step(session: Session, action: int) -> bytes:
    return recorded(session, "step", action=integer(action))


def answer_digest(answers: Sequence[bytes]) -> bytes:
    """Returns the digest of answers without warnings and large tensors."""
    digest = hashlib.blake2b(digest_size=16)
    for answer in answers:
        digest.update(struct.pack("<Q", len(answer)) + answer)
    return digest.digest()


def _replayed(
    session: Session, requests: Sequence[bytes], unseen: Sequence[int] = ()
) -> pb.ReplayResponse:
    """Replays a recording to its end, in as many parts as the server needs."""
    answer = pb.ReplayResponse()
    while answer.served < len(requests):
        before = answer.served
        answer = session.ask(
            "replay", requests=requests[before:], position=before, unseen=unseen
        ).of("replay")
        expect(before < answer.served <= len(requests), "a request served at least")
    return answer


@check("REPLAY-1 REPLAY-2 REPLAY-3 REPLAY-4", over=("unary", "direct"), profile="replay")
def a_recording_brings_a_session_there(context: CheckContext) -> None:
    """After a replay the session has the recorded session's state, and numbering goes on from the Replay."""
    session = context.make()
    _replayed(session, [_reset(session, 1), *[_step(session, 1)] * 3])
    expect_equal(int64s(session.step(0).observation), [4, 3], "steps and sum")


@check("REPLAY-5 REPLAY-6 REPLAY-9 REPLAY-10", profile="replay")
def the_digest_is_that_of_the_answers(context: CheckContext) -> None:
    """The digest is BLAKE2b over the lengths and the bytes of the answers."""
    session = context.make()
    requests = [_reset(session, 1), _step(session, 1), _step(session, 0)]
    found = _replayed(session, requests).digest
    original = context.make()
    answers = [
        pb.InteractResponse(reset=original.reset(1)),
        pb.InteractResponse(step=original.step(1)),
        pb.InteractResponse(step=original.step(0)),
    ]
    wanted = answer_digest([one.SerializeToString(deterministic=True) for one in answers])
    expect_equal(found.hex(), wanted.hex(), "the digest")


@check("REPLAY-5", profile="replay")
def another_way_has_another_digest(context: CheckContext) -> None:
    """Different answers have different digests, equal answers the same."""
    digests: list[bytes] = []
    for action in (1, 0, 1):
        session = context.make()
        digests.append(_replayed(session, [_reset(session, 1), _step(session, action)]).digest)
    expect(digests[0] != digests[1], "another digest")
    expect_equal(digests[2], digests[0], "the digest of the same recording")


@check("REPLAY-5 REPLAY-4", profile="replay")
def a_long_recording_has_checkpoints(context: CheckContext) -> None:
    """There is a digest after each 64th request, however the recording was divided into parts."""
    session = context.make()
    requests = [_reset(session, 1), *[_step(session, 1)] * 129]
    first = session.ask("replay", requests=requests[:70]).of("replay")
    expect_equal(first.served, 70, "the number of requests served")
    expect_equal([len(one) for one in first.checkpoints], [16], "the checkpoints of 70 requests")
    rest = session.ask("replay", requests=requests[70:], position=70).of("replay")
    expect_equal(len(rest.checkpoints), 1, "those of the next 60")
    whole = context.make()
    answer = _replayed(whole, requests)
    expect_equal(rest.digest, answer.digest, "the digest, in parts and as a whole")


@check("REPLAY-7", profile="replay")
def what_nobody_saw_is_passed_over(context: CheckContext) -> None:
    """The digest leaves out the answers at positions in `unseen`."""
    session, other = context.make(), context.make()
    steps = [_step(session, 1), _step(session, 0)]
    seen = _replayed(session, [_reset(session, 1), *steps], unseen=[1]).digest
    steps[0] = _step(other, 1)
    all_seen = _replayed(other, [_reset(other, 1), *steps]).digest
    expect(seen != all_seen, "another digest")


@check("REPLAY-8", profile="replay")
def an_error_counts_as_its_reason(context: CheckContext) -> None:
    """A recorded request that fails does not end the replay; the digest includes its reason."""
    session = context.make()
    found = _replayed(session, [_reset(session, 1), _step(session, 7), _step(session, 1)]).digest
    original = context.make()
    reset = pb.InteractResponse(reset=original.reset(1)).SerializeToString(deterministic=True)
    step = pb.InteractResponse(step=original.step(1)).SerializeToString(deterministic=True)
    reason = Reason.INVALID_ACTION.encode("ascii")
    expect_equal(found.hex(), answer_digest([reset, reason, step]).hex(), "the digest")


@check("REPLAY-18 SEQUENCE-7", profile="replay")
def what_is_no_recording_is_refused(context: CheckContext) -> None:
    """A recording with invalid bytes or a Make fails with INVALID_VALUE and uses the number; the session goes on."""
    session = context.make()
    make = pb.InteractRequest(make=context.make_request()).SerializeToString()
    for nonsense in (b"\xff\xff", make):
        session.ask("replay", requests=[nonsense]).refused(Reason.INVALID_VALUE)
    session.reset(1)


@check("DRIVE-13", profile="replay")
def steps_of_a_chunk_stand_by_themselves(context: CheckContext) -> None:
    """Replaying a chunk's steps one by one gives the digest of the steps in the chunk's answer."""
    session, original = context.make(), context.make()
    if "chunk" not in original.made.capabilities:
        raise SkippedError("the session takes no chunks")
    reset = pb.InteractResponse(reset=original.reset(1))
    chunk = original.ask("step", actions=[integer(1), integer(0)]).of("step")
    answers = [reset, *(pb.InteractResponse(step=step) for step in chunk.steps)]
    wanted = answer_digest([one.SerializeToString(deterministic=True) for one in answers])
    requests = [_reset(session, 1), _step(session, 1), _step(session, 0)]
    expect_equal(_replayed(session, requests).digest.hex(), wanted.hex(), "the digest")
