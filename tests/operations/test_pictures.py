"""Pictures of running environments: their content, when there are none, and that they do not change results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from envwire.client import RemoteEnv, RemoteVectorEnv, StepTimeoutError
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server import Server
from tests.operations.watching import Audience, next_round, refused, watching
from tests.tiers import first

PAINTED = "tests/Painted-v0"
SETTINGS: dict[str, Any] = {"imports": ["tests.operations.painted_envs"]}
QUICK = pb.WatchRequest(period=Duration(nanos=200_000_000))
MAX_STEPS = 1_000_000


@pytest.fixture(scope="module", params=first({"apart": 1, "packed": 4}))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server([PAINTED], frames=True, sessions_per_process=request.param, **SETTINGS) as running:
        yield running


def sessions(server: Server) -> list[pb.SessionStatus]:
    with watching(server.target, "Watch", QUICK) as answers:
        return list(next_round(answers).sessions)


def single(server: Server) -> list[Any]:
    return [RemoteEnv(server.target, PAINTED, render_mode="rgb_array")]


def several(server: Server) -> list[Any]:
    return [RemoteEnv(server.target, PAINTED, render_mode="rgb_array") for _ in range(3)]


def over_grpc(server: Server) -> list[Any]:
    return [RemoteEnv(server.target, PAINTED, render_mode="rgb_array", transport="stream")]


def vector(server: Server) -> list[Any]:
    return [
        RemoteVectorEnv(server.target, PAINTED, num_envs=3, sessions=1, render_mode="rgb_array")
    ]


def run(envs: list[Any], goes_on: Callable[[int], bool]) -> tuple[list[bytes], list[str]]:
    """Steps environments in turn; returns all that came, and the warnings."""
    came, step = [], 0
    for seed, env in enumerate(envs):
        came.append(env.reset(seed=seed)[0].tobytes())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        while goes_on(step):
            for env in envs:
                action = [step % 2] * getattr(env, "num_envs", 0) or step % 2
                observation, reward, _, ended, _ = env.step(action)
                came.append(observation.tobytes() + bytes(str((reward, ended)), "ascii"))
            step += 1
        for env in envs:
            env.render()
    return came, [str(each.message) for each in warned]


@pytest.mark.parametrize("make", [single, several, over_grpc, vector])
def test_a_watched_run_is_equal_in_every_bit(
    server: Server, make: Callable[[Server], list[Any]]
) -> None:
    envs = make(server)
    audiences = [Audience(server.target, each.session_id) for each in sessions(server)]

    def unsatisfied(step: int) -> bool:
        return step < MAX_STEPS and not all(each.satisfied for each in audiences)

    watched, warned = run(envs, unsatisfied)
    for audience in audiences:
        audience.join()
    assert all(each.frame.rgb or each.unavailable for a in audiences for each in a.pictures)
    assert any(each.frame.rgb for a in audiences for each in a.pictures)
    for env in envs:
        env.close()
    steps = (len(watched) - len(envs)) // len(envs)
    again = make(server)
    alone, warned_alone = run(again, lambda step: step < steps)
    same = watched == alone  # both are long, and a difference takes minutes to print
    assert same
    assert warned == warned_alone, "warnings of pictures are nobody's"
    for env in again:
        env.close()


def test_a_picture_is_small_and_of_the_state_at_hand(server: Server) -> None:
    (env,) = single(server)
    (session,) = sessions(server)
    assert session.frames
    request = pb.WatchFramesRequest(session_id=session.session_id)
    with watching(server.target, "WatchFrames", request) as pictures:
        env.reset(seed=1)
        frame = next(each.frame for each in pictures if each.frame.rgb)
    assert (frame.width, frame.height) == (214, 134), "every third pixel of 641 x 400"
    assert len(frame.rgb) == 214 * 134 * 3
    env.close()
    described = pb.DescribeSessionRequest(session_id=session.session_id)
    with watching(server.target, "DescribeSession", described) as told:
        assert told.last_frame.width == 214
        assert told.end.reason == "SESSION_CLOSED"


def test_the_pictures_end_with_the_session(server: Server) -> None:
    (env,) = single(server)
    env.reset(seed=1)
    request = pb.WatchFramesRequest(session_id=sessions(server)[0].session_id)
    with watching(server.target, "WatchFrames", request) as pictures:
        next(pictures)
        env.close()
        with pytest.raises(grpc.RpcError, match="was closed"):
            for _ in pictures:
                pass
    assert refused(server.target, "WatchFrames", request) == "SESSION_CLOSED"


def test_an_environment_without_pictures(server: Server) -> None:
    env = RemoteEnv(server.target, PAINTED)
    (session,) = sessions(server)
    assert not session.frames
    request = pb.WatchFramesRequest(session_id=session.session_id)
    assert refused(server.target, "WatchFrames", request) == "UNSUPPORTED"
    env.close()


def test_without_the_operators_setting_there_are_none() -> None:
    with Server([PAINTED], **SETTINGS) as server:
        (env,) = single(server)
        (session,) = sessions(server)
        assert not session.frames
        request = pb.WatchFramesRequest(session_id=session.session_id)
        assert refused(server.target, "WatchFrames", request) == "UNSUPPORTED"
        env.close()


def test_an_environment_that_cannot_paint_goes_on(server: Server) -> None:
    env = RemoteEnv(server.target, PAINTED, render_mode="rgb_array", trouble="raises")
    env.reset(seed=1)
    request = pb.WatchFramesRequest(session_id=sessions(server)[0].session_id)
    with watching(server.target, "WatchFrames", request) as pictures:
        assert next(pictures).unavailable == "ValueError: out of paint"
        env.step(0)
        assert next(pictures).unavailable
    env.close()


def step_for_ever(env: RemoteEnv) -> None:
    while True:
        env.step(0)


def test_one_that_hangs_in_a_picture_is_ended_by_its_deadline() -> None:
    with Server([PAINTED], frames=True, step_timeout=1.0, **SETTINGS) as server:
        env = RemoteEnv(server.target, PAINTED, render_mode="rgb_array", trouble="hangs")
        env.reset(seed=1)
        request = pb.WatchFramesRequest(session_id=sessions(server)[0].session_id)
        with watching(server.target, "WatchFrames", request) as pictures:
            with pytest.raises(StepTimeoutError):
                step_for_ever(env)
            with pytest.raises(grpc.RpcError, match="did not answer within 1 s"):
                next(pictures)
