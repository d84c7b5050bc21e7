"""A session's counters: episodes, counted once each, repeats and replays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.codec import encode_value, envwire_family
from envwire.server._session.counting import SingleEpisodes
from envwire.server._session.session import Session
from envwire.v1 import environment_pb2 as pb


class Counting(gym.Env[Any, Any]):
    """Ends at step 3; the reward is the number of the step."""

    observation_space = gym.spaces.Box(0, 100, (1,), np.float64)
    action_space = gym.spaces.Discrete(2)
    steps = 0

    def reset(self, **_: Any) -> Any:
        self.steps = 0
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.full(1, self.steps), self.steps, self.steps == 3, False, {}


class Kept:
    """Stores the counted values."""

    def __init__(self) -> None:
        self.episodes: list[tuple[float, int]] = []
        self.repeats = 0
        self.replays: list[tuple[int, int, str]] = []

    def add_episodes(self, ended: Any) -> None:
        self.episodes += ended

    def add_repeat(self) -> None:
        self.repeats += 1

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        self.replays.append((served, epoch, loss))


class Scene:
    """A session and its counted values; requests are numbered in order."""

    def __init__(self, counts_episodes: bool = True) -> None:
        self.session = Session(Counting(), envwire_family())
        self.kept = self.session.counts = Kept()
        if counts_episodes:
            self.session.count_episodes()
        self.number = 0

    def ask(self, kind: str, body: Any) -> pb.InteractResponse:
        self.number += 1
        body.sequence = self.number
        return self.send(pb.InteractRequest(**{kind: body}).SerializeToString())

    def send(self, raw: bytes) -> pb.InteractResponse:
        answer = pb.InteractResponse.FromString(self.session.handle(raw).message)
        assert not answer.HasField("error"), answer
        self.session.count()
        return answer


def step(actions: int = 0) -> pb.StepRequest:
    request = pb.StepRequest()
    for _ in range(actions):
        encode_value(0, request.actions.add())
    if not actions:
        encode_value(0, request.action)
    return request


def recorded(*kinds: str) -> list[bytes]:
    made = {"reset": lambda: pb.InteractRequest(reset=pb.ResetRequest())}
    made["step"] = lambda: pb.InteractRequest(step=step())
    return [made[kind]().SerializeToString() for kind in kinds]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_episode_is_noted_when_it_ends(scene: Scene) -> None:
    scene.ask("reset", pb.ResetRequest())
    for _ in range(2):
        scene.ask("step", step())
    assert scene.kept.episodes == []
    scene.ask("step", step())
    assert scene.kept.episodes == [(6.0, 3)]


def test_episodes_are_not_looked_at_where_nobody_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looked_at(_: Any) -> Any:
        raise AssertionError("an episode was followed")

    monkeypatch.setattr(SingleEpisodes, "step", looked_at)
    monkeypatch.setattr(SingleEpisodes, "begin", looked_at)
    scene = Scene(counts_episodes=False)
    scene.ask("reset", pb.ResetRequest())
    for _ in range(3):
        scene.ask("step", step())
    assert scene.kept.episodes == []


def test_the_steps_of_a_chunk_count_each(scene: Scene) -> None:
    scene.ask("reset", pb.ResetRequest())
    scene.ask("step", step(actions=5))
    assert scene.kept.episodes == [(6.0, 3)]


def test_episodes_of_a_recording_were_counted_and_the_one_it_ends_in_is_counted_whole(
    scene: Scene,
) -> None:
    requests = recorded("reset", *["step"] * 3, "reset", "step")
    scene.ask("replay", pb.ReplayRequest(requests=requests, epoch=2, loss="SESSION_LOST"))
    assert scene.kept.replays == [(6, 2, "SESSION_LOST")]
    assert scene.kept.episodes == []
    for _ in range(2):
        scene.ask("step", step())
    assert scene.kept.episodes == [(6.0, 3)]


def test_a_recording_that_comes_in_parts_counts_each_request_once(scene: Scene) -> None:
    requests = recorded("reset", *["step"] * 3, "reset", "step")
    for begin, end in ((0, 2), (2, 6)):
        part = pb.ReplayRequest(requests=requests[begin:end], position=begin, epoch=1)
        scene.ask("replay", part)
    assert [served for served, _, _ in scene.kept.replays] == [2, 4]


def test_a_request_that_comes_again_is_noted_and_counts_once(scene: Scene) -> None:
    scene.ask("reset", pb.ResetRequest())
    for _ in range(2):
        scene.ask("step", step())
    last = pb.InteractRequest(step=step())
    last.step.sequence = scene.number + 1
    for _ in range(3):
        scene.send(last.SerializeToString())
    assert scene.kept.repeats == 2
    assert scene.kept.episodes == [(6.0, 3)]


def test_a_copy_counts_from_where_it_began(scene: Scene) -> None:
    scene.ask("reset", pb.ResetRequest())
    scene.ask("step", step())
    assert scene.session.steps == 1
    scene.session.copied()
    copied = scene.session.counts = Kept()
    assert (scene.session.steps, scene.session.stepping) == (0, 0)
    scene.number = 0
    for _ in range(2):
        scene.ask("step", step())
    assert scene.session.steps == 2
    assert copied.episodes == [(6.0, 3)], "the episode goes on in both, and each tells it whole"
