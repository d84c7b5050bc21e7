"""The log of one environment, and the recording that decides what goes into it."""

from __future__ import annotations

import logging

import pytest

from envwire.client._session.recording import MemberRecording, Recording
from envwire.client._session.request_log import RequestLog
from envwire.client.errors import ReplayMismatchError, SessionLostError
from envwire.codec import FaultError, Reason, encode_fault, encode_value
from envwire.codec.digests import CHECKPOINT, RollingDigest
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply

STEP = pb.InteractRequest(step=pb.StepRequest()).SerializeToString()
STEPPED = Reply(pb.InteractResponse(step=pb.StepResponse()).SerializeToString())
RESET = Reply(pb.InteractResponse(reset=pb.ResetResponse()).SerializeToString())


def reset(seed: int | None, mask: bool = False) -> bytes:
    request = pb.InteractRequest(reset=pb.ResetRequest())
    if seed is not None:
        encode_value(seed, request.reset.seed)
    if mask:
        request.reset.options.entries.add(name="reset_mask")
    return request.SerializeToString()


def error(reason: Reason) -> Reply:
    answer = pb.InteractResponse()
    encode_fault(FaultError(reason, "no"), answer.error)
    return Reply(answer.SerializeToString())


@pytest.mark.parametrize(("position", "wrong"), [(0, 0), (0, 1), (0, 2), (CHECKPOINT, 1)])
def test_a_replay_that_goes_another_way_is_told_where(position: int, wrong: int) -> None:
    log, digest = RequestLog(1000), RollingDigest()
    for number in range(3 * CHECKPOINT + 5):
        log.add(STEP, [b"%d" % number])
        digest.add_digested([b"%d" % number])
    checkpoints = digest.checkpoints[position // CHECKPOINT :]
    answer = pb.ReplayResponse(served=len(log), checkpoints=checkpoints, digest=digest.value())
    log.check(position, answer)
    answer.checkpoints[wrong] = b"another"
    with pytest.raises(ReplayMismatchError) as told:
        log.check(position, answer)
    begin = position + wrong * CHECKPOINT
    assert (told.value.first, told.value.last) == (begin + 1, begin + CHECKPOINT)


def test_a_replay_is_told_which_answers_were_not_received() -> None:
    log = RequestLog(1000)
    for number in range(6):
        log.add(STEP, None if number in {1, 4} else [b""])
    body = pb.ReplayRequest()
    log.part(2, body)
    assert len(body.requests) == 4
    assert list(body.unseen) == [4]


def recorded() -> Recording:
    recording = Recording(1000)
    recording.note(reset(1), RESET)
    recording.note(STEP, STEPPED)
    return recording


def test_a_reset_that_failed_begins_no_new_log() -> None:
    recording = recorded()
    recording.note(reset(2), error(Reason.ENVIRONMENT_RAISED))
    assert len(recording) == 3
    recording.note(reset(2), RESET)
    assert len(recording) == 1


@pytest.mark.parametrize(("seed", "mask"), [(None, False), (None, True), (2, True)])
def test_a_reset_without_a_seed_for_all_begins_no_new_log(seed: int | None, mask: bool) -> None:
    recording = recorded()
    recording.note(reset(seed, mask), RESET)
    assert len(recording) == 3


def test_what_did_not_reach_the_environment_is_not_recorded() -> None:
    recording = recorded()
    recording.note(STEP, error(Reason.CAPACITY_REACHED))
    assert len(recording) == 2
    recording.note(STEP, error(Reason.INVALID_ACTION))
    assert len(recording) == 3


def test_a_copy_goes_its_own_way() -> None:
    recording = recorded()
    copy = recording.copy()
    recording.note(STEP, STEPPED)
    assert (len(recording), len(copy)) == (3, 2)
    assert copy.rooted


@pytest.mark.parametrize("steps", [10, 200])
def test_who_reads_the_log_learns_why_more_than_an_episode_is_replayed(
    caplog: pytest.LogCaptureFixture, steps: int
) -> None:
    recording = MemberRecording(1000, 1)
    recording.note(reset(1), RESET)
    for _ in range(steps):
        recording.note(STEP, STEPPED)
    with caplog.at_level(logging.INFO, "envwire.client"):
        recording.check_whole(SessionLostError("lost"))
    # Answers of at least 64 requests behind the reset have to be compared.
    assert ("environments [0]" in caplog.text) is (steps == 10)
