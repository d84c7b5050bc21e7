"""The log of a vector environment: its content after any number of requests, and the starts of members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client._session.recording import MemberRecording
from envwire.client._session.request_log import MAX_BYTES, MemberRequestLog, RequestLog
from envwire.client.errors import ReplayMismatchError
from envwire.codec import encode_value
from envwire.codec.digests import RollingDigest
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.frames import Reply

STEP = pb.InteractRequest(step=pb.StepRequest()).SerializeToString()
SET = pb.InteractRequest(set_attribute=pb.SetAttributeRequest(name="x")).SerializeToString()


def state(number: int) -> spaces_pb2.RandomState:
    return spaces_pb2.RandomState(bit_generator=str(number))


def log(size: int = 2, limit: int = 1000, max_bytes: int = MAX_BYTES) -> MemberRequestLog:
    return MemberRequestLog(size, limit, RequestLog(limit), max_bytes)


def answer(number: int) -> list[bytes | memoryview]:
    return [b"%d" % number]


def step(of: MemberRequestLog, numbers: range, every: dict[int, int]) -> None:
    """Adds steps; members are reset at regular intervals."""
    for number in numbers:
        starts = {index: state(number) for index, each in every.items() if number % each == 0}
        of.add(STEP, answer(number), starts)


def whole(of: Any) -> pb.ReplayRequest:
    request = pb.ReplayRequest()
    of.part(0, request)
    return request


def test_a_member_begins_with_its_last_episode_before_a_block_of_answers_of_all() -> None:
    recorded = log()
    step(recorded, range(1000), {0: 7, 1: 50})
    request = whole(recorded)
    # Digests begin every 64 answers: the older of two at 896. Before it, members were reset at 889 and at 850.
    assert [(each.position, each.np_random) for each in request.member_starts] == [
        (39, state(889)),
        (0, state(850)),
    ]
    assert len(request.requests) == len(recorded) == 150
    assert list(request.unseen) == list(range(46))


def test_the_answers_of_all_members_are_compared() -> None:
    recorded = log()
    step(recorded, range(1000), {0: 7, 1: 50})
    digest = RollingDigest()
    for number in range(896, 1000):
        digest.add_digested(answer(number))
    recorded.check(0, pb.ReplayResponse(served=150, digest=digest.value()))
    recorded.check(0, pb.ReplayResponse(served=149, digest=b"half of it"))
    with pytest.raises(ReplayMismatchError, match="requests 47 to 150"):
        recorded.check(0, pb.ReplayResponse(served=150, digest=b"another"))


def test_a_member_whose_resets_tell_no_state_cannot_be_brought_back() -> None:
    recorded = log()
    step(recorded, range(300), {0: 7})
    assert recorded.overflowed
    assert recorded.unknown() == [1]
    recorded.add(STEP, answer(300), {1: state(300)})
    assert recorded.unknown() == [1], "the answers that are compared begin before it"
    step(recorded, range(301, 500), {0: 7})
    assert not recorded.overflowed


def test_a_replay_is_told_which_answers_were_not_received() -> None:
    recorded = log()
    step(recorded, range(1000), {0: 7, 1: 50})
    recorded.add(STEP, None, {})
    assert list(whole(recorded).unseen) == [*range(46), 150]


def test_it_begins_again_behind_an_episode_that_is_too_long() -> None:
    recorded = log(size=1, limit=100)
    step(recorded, range(1, 100), {0: 1000})
    assert recorded.overflowed
    step(recorded, range(1000, 1090), {0: 30})
    assert not recorded.overflowed
    assert len(recorded) <= 100


def test_what_outlasts_episodes_goes_before_them() -> None:
    recorded = log(size=1)
    recorded.add(SET, answer(0), {})
    step(recorded, range(1000), {0: 10})
    request = whole(recorded)
    assert list(request.requests) == [SET]
    recorded.part(1, request := pb.ReplayRequest())
    assert request.requests[0] == STEP
    assert request.member_starts[0].position == 1


def test_it_is_bounded_in_bytes() -> None:
    recorded = log(size=1, limit=10_000, max_bytes=10_000)
    long = RequestLog(10_000, max_bytes=10_000)
    for number in range(300):
        recorded.add(STEP, answer(number), {} if number else {0: None})
        long.add(STEP, answer(number))
    assert recorded.overflowed
    assert len(recorded) < 250
    assert long.overflowed


def test_what_it_forgot_takes_no_room() -> None:
    recorded = log(size=1, limit=10_000, max_bytes=30_000)
    for number in range(3000):
        recorded.add(STEP, answer(number), {0: None} if number % 10 == 0 else {})
        assert not recorded.overflowed or number < 2 * 64


def seeded(seed: Any, mask: Any = None) -> bytes:
    request = pb.InteractRequest(reset=pb.ResetRequest())
    encode_value(seed, request.reset.seed)
    if mask is not None:
        entry = request.reset.options.entries.add(name="reset_mask")
        encode_value(np.array(mask), entry.value)
    return request.SerializeToString()


def reset_answer(*told: int) -> Reply:
    answer = pb.InteractResponse(reset=pb.ResetResponse())
    for index in told:
        answer.reset.member_resets.add(member=index, np_random=state(index))
    return Reply(answer.SerializeToString())


def resets() -> Iterator[Any]:
    yield seeded(3), (), {0: None, 1: None, 2: None}
    yield seeded([1, None, 2]), (1,), {0: None, 1: state(1), 2: None}
    yield seeded(3, [True, False, True]), (), {0: None, 2: None}
    yield seeded([None, 4, None], [True, True, False]), (0,), {0: state(0), 1: None}


@pytest.mark.parametrize(("request_", "told", "starts"), list(resets()))
def test_a_seed_is_as_good_as_a_state(
    request_: bytes, told: tuple[int, ...], starts: dict[int, Any]
) -> None:
    recording = MemberRecording(1000, 3)
    recording.note(request_, reset_answer(*told))
    for _ in range(200):
        recording.note(STEP, Reply(pb.InteractResponse(step=pb.StepResponse()).SerializeToString()))
    known = len(starts) == 3
    assert len(recording.logs()) == 1 + known
    if known:
        found = {each.member: each for each in whole(recording.logs()[0]).member_starts}
        for index, expected in starts.items():
            assert found[index].HasField("np_random") == (expected is not None)
            assert expected is None or found[index].np_random == expected


def test_attributes_survive_a_recording_that_was_too_long() -> None:
    recording = MemberRecording(20, 1)
    done = Reply(pb.InteractResponse(set_attribute=pb.SetAttributeResponse()).SerializeToString())
    recording.note(SET, done)
    for _ in range(50):
        recording.note(STEP, Reply(pb.InteractResponse(step=pb.StepResponse()).SerializeToString()))
    recording.note(seeded(3), reset_answer())
    for each in recording.logs():
        request = pb.ReplayRequest()
        each.part(0, request)
        assert request.requests[0] == SET
