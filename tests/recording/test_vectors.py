"""`envwire export` and `envwire replay` of recordings of vector environments: episodes of their members."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import envwire.envs as gym
from envwire.client import RemoteVectorEnv
from envwire.codec import envwire_family
from envwire.envs.vector import AutoresetMode, SyncVectorEnv
from envwire.server import Server
from envwire.server._recording.episodes import RecordedEpisode, episodes
from envwire.server._recording.files import SUFFIX, RecordedSession, RecordingError
from envwire.server.cli._app import app
from envwire.server.cli._recordings.film import side_by_side
from envwire.testing.comparing import identical
from tests.recording.editing import edited
from tests.tiers import first

COUNT = 3
MODES = ("NEXT_STEP", "SAME_STEP", "DISABLED")
ENV_ID, LIMIT = "CartPole-v1", 15


def envwire(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


class Diary(gym.Wrapper):  # type: ignore[type-arg]
    """Writes down the episodes of one environment, as it sees them."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.episodes: list[list[Any]] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        result = super().reset(seed=seed, options=options)
        self.episodes.append([(seed, options or None, result[0])])
        return result

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self.episodes[-1].append((action, *result[:4]))
        return result


def play(envs: Any, mode: str) -> None:
    """Plays members until each has ended some episodes, then resets during an episode."""
    actions = np.random.default_rng(3).integers(0, 2, (48, COUNT))
    envs.reset(seed=5)
    for number, action in enumerate(actions):
        if number == 32:
            envs.reset(seed=[8, 2, 5], options={"low": -0.01, "high": 0.01})
        _, _, terminations, truncations, _ = envs.step(action)
        over = terminations | truncations
        if mode == "DISABLED" and over.any():
            envs.reset(options={"reset_mask": over})


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server that records, and where."""
    folder = tmp_path_factory.mktemp("recorded")
    with Server([ENV_ID], record=folder) as running:
        yield running, folder


@pytest.fixture(scope="module", params=MODES)
def played(request: Any, recording: tuple[Server, Path]) -> tuple[Path, list[Diary]]:
    """The recording of a vector environment, and the diaries of the same environments here."""
    server, folder = recording
    mode, before = request.param, set(folder.iterdir())
    envs = RemoteVectorEnv(
        server.target,
        ENV_ID,
        COUNT,
        sessions=1,
        autoreset_mode=mode,
        env_kwargs={"max_episode_steps": LIMIT},
    )
    play(envs, mode)
    envs.close()
    make = partial(gym.make, ENV_ID, max_episode_steps=LIMIT)
    diaries: list[Diary] = []

    def diary() -> Diary:
        diaries.append(Diary(make()))
        return diaries[-1]

    local = SyncVectorEnv([diary] * COUNT, autoreset_mode=AutoresetMode[mode])
    play(local, mode)
    local.close()
    (path,) = set(folder.glob(f"*{SUFFIX}")) - before
    return path, diaries


def by_member(found: Iterable[RecordedEpisode]) -> list[list[Any]]:
    """Returns episodes as diaries tell them."""
    told: list[list[Any]] = [[] for _ in range(COUNT)]
    for each in found:
        assert each.member is not None
        steps = zip(
            *(each.actions, each.observations[1:], each.rewards),
            *(each.terminations, each.truncations),
            strict=True,
        )
        told[each.member].append([(each.seed, each.options, each.observations[0]), *steps])
    return told


def test_each_member_has_the_episodes_that_it_played(played: tuple[Path, list[Diary]]) -> None:
    path, diaries = played
    found = by_member(episodes(RecordedSession(path), envwire_family()))
    for member, diary in zip(found, diaries, strict=True):
        assert len(member) > 3
        assert identical(member, diary.episodes)


def test_a_table_says_whose_each_row_is(played: tuple[Path, list[Diary]], tmp_path: Path) -> None:
    path, diaries = played
    told = envwire("export", path, "--csv", tmp_path / "steps.csv")
    assert told.exit_code == 0, told.output
    with (tmp_path / "steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for member, diary in enumerate(diaries):
        own = [json.loads(row["observation"]) for row in rows if row["member"] == str(member)]
        seen = [
            step[2] if index == 0 else step[1]
            for e in diary.episodes
            for index, step in enumerate(e)
        ]
        assert np.array_equal(np.float32(own), seen)


def test_it_is_played_again(played: tuple[Path, list[Diary]]) -> None:
    told = envwire("replay", played[0])
    assert told.exit_code == 0, told.output
    assert "all answers are the same" in told.output


@pytest.mark.parametrize("played", first(MODES), indirect=True)
def test_a_film_shows_all_members_at_once(played: tuple[Path, list[Diary]], tmp_path: Path) -> None:
    told = envwire("export", played[0], "--gif", tmp_path / "film.gif")
    assert told.exit_code == 0, told.output
    with Image.open(tmp_path / "film.gif") as film:
        assert film.size == (1200, 800)  # two rows of two
        assert film.n_frames > LIMIT
        last = np.asarray(film.convert("RGB"))
    assert not last[400:, 600:].any()  # there is no fourth member


def test_pictures_are_set_side_by_side() -> None:
    pictures = np.arange(1, 4, dtype=np.uint8)[:, None, None, None] * np.ones(
        (1, 2, 5, 3), np.uint8
    )
    grid = side_by_side(pictures)
    assert grid.shape == (4, 10, 3)
    assert [grid[0, 0, 0], grid[0, 9, 0], grid[3, 0, 0], grid[3, 9, 0]] == [1, 2, 3, 0]


def test_members_are_left_where_a_step_failed(
    played: tuple[Path, list[Diary]], tmp_path: Path
) -> None:
    """What a failed step did to each member is unknown: the next that is told is a new episode."""

    def edit(number: int, entry: Any) -> None:
        if number == 6:
            entry.response.ClearField("step")
            entry.response.error.message = "failed"

    broken = edited(played[0], tmp_path / "edited", edit)
    found = by_member(episodes(RecordedSession(broken), envwire_family()))
    for member, diary in zip(found, played[1], strict=True):
        assert identical(member, [diary.episodes[0][:2], *diary.episodes[1:]])


def test_a_vector_that_does_not_say_when_members_are_reset_is_refused(
    played: tuple[Path, list[Diary]], tmp_path: Path
) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 0:
            entry.header.made.vector.autoreset_mode = ""

    silent = edited(played[0], tmp_path / "edited", edit)
    with pytest.raises(RecordingError, match="does not say when its members are reset"):
        list(episodes(RecordedSession(silent), envwire_family()))


def test_values_that_do_not_fit_their_spaces_are_damage(
    played: tuple[Path, list[Diary]], tmp_path: Path
) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 4:
            entry.response.step.ClearField("typed_terminated")  # one flag for all members

    path = edited(played[0], tmp_path / "edited", edit)
    with pytest.raises(RecordingError, match="is damaged: its values do not fit"):
        list(episodes(RecordedSession(path), envwire_family()))
