"""`envwire export` and `envwire replay`, on recordings of a real server."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.codec import encode_value
from envwire.server import Server
from envwire.server._recording.files import SUFFIX, RecordedSession
from envwire.server.cli._app import app
from tests.conftest import SETTINGS
from tests.recording.editing import edited

Seen = list[tuple[Any, Any]]


def envwire(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def play(env: RemoteEnv, episodes: int, unfinished: int = 0) -> Seen:
    """Plays episodes with seeded actions, then some steps of an unfinished episode."""
    env.action_space.seed(5)
    seen: Seen = []
    for episode in range(episodes + bool(unfinished)):
        seen.append((None, env.reset(seed=episode)[0]))
        ended, steps = False, 0
        while not ended and (episode < episodes or steps < unfinished):
            action = env.action_space.sample()
            observation, _, terminated, truncated, _ = env.step(action)
            seen.append((action, observation))
            ended, steps = terminated or truncated, steps + 1
    return seen


class Recorder(NamedTuple):
    """A server that records, and where."""

    server: Server
    folder: Path

    @contextmanager
    def recording(self) -> Iterator[list[Path]]:
        """Yields a list that has the recordings that were made once the block is over."""
        before, made = set(self.folder.glob(f"*{SUFFIX}")), list[Path]()
        yield made
        made += set(self.folder.glob(f"*{SUFFIX}")) - before


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    folder = tmp_path_factory.mktemp("recorded")
    with Server(["CartPole-v1", "tests/*"], record=folder, **SETTINGS) as server:
        yield Recorder(server, folder)


@pytest.fixture(scope="module")
def recorded(recorder: Recorder) -> tuple[Path, Seen]:
    with recorder.recording() as made:
        env = RemoteEnv(recorder.server.target, "CartPole-v1")
        seen = play(env, 3, unfinished=2)
        env.close()
    (path,) = made
    return path, seen


def test_a_server_that_does_not_record_says_so(server: Server) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    assert env.recorded_as == ""
    env.close()


def test_a_table_has_a_row_for_each_reset_and_step(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    path, seen = recorded
    told = envwire("export", path, "--csv", tmp_path / "steps.csv")
    assert told.exit_code == 0, told.output
    assert f"{len(seen)} rows" in told.output
    with (tmp_path / "steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["action"] for row in rows] == ["" if a is None else str(a) for a, _ in seen]
    for row, (_, observation) in zip(rows, seen, strict=True):
        assert np.array_equal(np.float32(json.loads(row["observation"])), observation)
    assert {row["recording"] for row in rows} == {path.stem}
    assert [row["seed"] for row in rows if row["step"] == "0"] == ["0", "1", "2", "3"]
    assert sum(row["terminated"] == "true" for row in rows) == 3


def test_keys_that_json_lacks_are_their_own_json(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    key: Any = (0, "a")
    content = {key: {np.int64(2): np.arange(2)}, "plain": [{key: 1}], 3: None}

    def edit(number: int, entry: Any) -> None:
        if number == 2:
            entry.response.reset.observation.Clear()
            encode_value(content, entry.response.reset.observation)

    path = edited(recorded[0], tmp_path / recorded[0].name, edit)
    told = envwire("export", path, "--csv", tmp_path / "steps.csv")
    assert told.exit_code == 0, told.output
    with (tmp_path / "steps.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert json.loads(first["observation"]) == {
        '[0, "a"]': {"2": [0, 1]},
        "plain": [{'[0, "a"]': 1}],
        "3": None,
    }


def test_export_says_where_a_recording_cannot_be_read(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    raw, table, path = recorded[0].read_bytes(), tmp_path / "steps.csv", tmp_path / "x.envrec"
    path.write_bytes(raw[:-40])
    told = envwire("export", path, "--csv", table)
    assert (told.exit_code, f"{path} was torn at byte" in told.output) == (0, True), told.output
    assert "torn" not in envwire("export", recorded[0], "--csv", table).output


def test_a_damaged_value_names_its_recording(recorded: tuple[Path, Seen], tmp_path: Path) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 6:
            entry.response.step.observation.array.data = b"short"

    path = edited(recorded[0], tmp_path / recorded[0].name, edit)
    for command in (
        ("export", recorded[0], path, "--csv", tmp_path / "steps.csv"),
        ("replay", path),
    ):
        told = envwire(*command)
        assert (told.exit_code, told.output.count("\n")) == (1, 1), told.output
        assert f"{path} is damaged" in told.output


def test_a_film_of_what_was_not_rendered_is_of_the_same_states(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    path, seen = recorded
    told = envwire("export", path, "--gif", tmp_path / "film.gif")
    assert told.exit_code == 0, told.output
    assert f"{len(seen)} frames" in told.output
    film: Any = Image.open(tmp_path / "film.gif")
    assert film.n_frames > len(seen) // 2  # equal neighbours are one longer frame
    film.close()
    assert "frames" in envwire("export", path, "--gif", tmp_path / "film").output
    assert (tmp_path / "film").read_bytes() == (tmp_path / "film.gif").read_bytes()


def test_the_render_mode_of_a_film_is_no_difference(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.recording() as made:
        envs = RemoteVectorEnv(recorder.server.target, "CartPole-v1", 2)
        assert envs.call("render_mode") == (None, None)  # stable-baselines3 asks this first
        envs.reset(seed=1)
        envs.step(envs.action_space.sample())
        envs.close()
    (path,) = made
    told = envwire("export", path, "--gif", tmp_path / "film.gif")
    assert (told.exit_code, "2 frames" in told.output) == (0, True), told.output


def test_a_film_shows_the_frames_that_were_recorded(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.recording() as made:
        env = RemoteEnv(recorder.server.target, "CartPole-v1", render_mode="rgb_array")
        env.reset(seed=1)
        frames: list[Any] = []
        for _ in range(3):
            env.step(0)
            frames.append(env.render())
        env.close()
    (path,) = made
    assert "3 frames" in envwire("export", path, "--gif", tmp_path / "film.gif").output
    film: Any = Image.open(tmp_path / "film.gif")
    film.seek(film.n_frames - 1)
    assert film.size == frames[-1].shape[1::-1]
    film.close()


def test_a_film_of_what_cannot_be_rendered_says_why(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.recording() as made:
        env = RemoteEnv(recorder.server.target, "tests/Saving-v0")
        env.reset(seed=1)
        with pytest.raises(NotImplementedError):
            env.render()
        env.close()
    (path,) = made
    told = envwire("export", path, "--gif", tmp_path / "x.gif", "--import", "tests.hosted_envs")
    assert told.exit_code == 1
    assert "CodecError" not in told.output


def test_a_film_is_written_as_mp4(recorded: tuple[Path, Seen], tmp_path: Path) -> None:
    imageio: Any = pytest.importorskip("imageio.v2")
    pytest.importorskip("imageio_ffmpeg")
    path, seen = recorded
    told = envwire("export", path, "--mp4", tmp_path / "film.mp4")
    assert told.exit_code == 0, told.output
    with imageio.get_reader(tmp_path / "film.mp4") as film:
        assert film.count_frames() == len(seen)
        assert film.get_data(0).shape == (400, 600, 3)


def test_what_is_missing_is_one_line_with_its_extra(
    recorded: tuple[Path, Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "minari", None)
    told = envwire("export", recorded[0], "--minari", "a/b-v0")
    assert (told.exit_code, told.output.count("\n")) == (1, 1)
    assert "pip install 'envwire[minari]'" in told.output
    monkeypatch.setitem(__import__("sys").modules, "imageio", None)
    monkeypatch.setitem(__import__("sys").modules, "imageio.v2", None)
    told = envwire("export", recorded[0], "--mp4", tmp_path / "film.mp4")
    assert told.exit_code == 1
    assert "pip install 'envwire[mp4]'" in told.output


def test_a_dataset_is_replaced_only_on_demand(
    recorded: tuple[Path, Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = SimpleNamespace(list_local_datasets=lambda: {"a/b-v0": {}})
    monkeypatch.setitem(sys.modules, "minari", known)
    told = envwire("export", recorded[0], "--minari", "a/b-v0")
    assert (told.exit_code, told.output) == (
        1,
        "envwire export: there is a Minari dataset a/b-v0; replace it with --overwrite, or give another name\n",
    )


def test_errors_of_export_are_one_line(recorded: tuple[Path, Seen], tmp_path: Path) -> None:
    path, _ = recorded
    (tmp_path / "other").write_text("no recording")
    for arguments, says in (
        ((tmp_path / "other", "--csv", "x"), "is no recording"),
        ((tmp_path / "none", "--csv", "x"), "No such file"),
        ((path, "--csv", tmp_path / "no" / "x"), "there is no directory"),
        ((path,), "say what to make"),
        ((path, "--csv", "/dev/full"), "the disk is full; make room"),
        ((path, "--csv", path), "is the name of a recording"),
        ((path, "--gif", tmp_path / "film.envrec"), "is the name of a recording"),
        ((path, path, "--gif", tmp_path / "x.gif"), "name one file"),
    ):
        told = envwire("export", *arguments)
        assert told.exit_code in (1, 2)
        assert says in told.output
        assert told.output.count("\n") == 1


def test_a_replay_is_the_same_here_and_on_a_server(
    recorded: tuple[Path, Seen], server: Server
) -> None:
    path, seen = recorded
    told = envwire("replay", path)
    assert (told.exit_code, told.output.splitlines()) == (
        0,
        [
            f"{len(seen) + 1} requests of CartPole-v1: all answers are the same",
            "the recording was closed by its client",
        ],
    )
    assert envwire("replay", path, "--target", server.target).output == told.output


def test_the_first_answer_that_differs_is_told(recorded: tuple[Path, Seen], tmp_path: Path) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 6:
            entry.response.step.reward = 0.5
        if number == 10:
            entry.response.step.observation.array.data = bytes(16)

    told = envwire("replay", edited(recorded[0], tmp_path / "edited", edit))
    assert told.exit_code == 1
    first, *values = told.output.splitlines()
    assert first.startswith("request 3 (step, at ")
    assert first.endswith("differs in step.reward")
    assert [line.split() for line in values] == [["recorded:", "0.5"], ["now:", "1.0"]]


CHANGES: list[tuple[Callable[[Any], object], str, str]] = [
    (lambda step: step.info.entries.add(name="x"), "step.info['x']", "not there"),
    (lambda step: step.ClearField("observation"), "step.observation", "there"),
    (lambda step: setattr(step, "terminated", True), "step.terminated", "False"),
    (
        lambda step: setattr(step.observation.array, "data", bytes(16)),
        "step.observation",
        "array([",
    ),
]


@pytest.mark.parametrize(("change", "field", "now"), CHANGES)
def test_a_difference_names_its_field(
    recorded: tuple[Path, Seen], tmp_path: Path, change: Any, field: str, now: str
) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 6:
            change(entry.response.step)

    told = envwire("replay", edited(recorded[0], tmp_path / "edited", edit)).output
    assert f"differs in {field}\n" in told
    assert f"now:      {now}" in told


def test_what_differs_between_any_two_runs_does_not_count(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    def edit(number: int, entry: Any) -> None:
        if number == 6:
            entry.response.step.warnings.add(category="UserWarning")
            entry.response.notices.add()

    assert envwire("replay", edited(recorded[0], tmp_path / "edited", edit)).exit_code == 0


def test_all_kinds_of_requests_are_played(recorder: Recorder) -> None:
    with recorder.recording() as made:
        env = RemoteEnv(recorder.server.target, "tests/Saving-v0", on_lost="replay")
        env.reset(seed=1)
        state = env.save_state()
        env.step(0)
        env.restore_state(state)
        env.step_many([0, 0])
        env.set_wrapper_attr("spare", 4)
        with pytest.raises(AttributeError):
            env.get_wrapper_attr("nothing")
        env.close()
    (path,) = made
    told = envwire("replay", path, "--import", "tests.hosted_envs")
    assert told.exit_code == 0, told.output


def test_a_torn_recording_is_played_as_far_as_it_goes(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    torn = tmp_path / "torn"
    torn.write_bytes(recorded[0].read_bytes()[:-40])
    told = envwire("replay", torn)
    assert told.exit_code == 0
    assert "the recording was torn at byte" in told.output
    assert len(list(RecordedSession(torn).exchanges())) > 5


def test_errors_of_replay_are_one_line(recorded: tuple[Path, Seen]) -> None:
    told = envwire("replay", recorded[0], "--target", "127.0.0.1:1")
    assert told.exit_code == 1
    assert told.output.startswith("envwire replay: ")
    assert told.output.count("\n") == 1


def test_a_recording_names_no_module_to_import(
    recorded: tuple[Path, Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name_wrapper(number: int, entry: Any) -> None:
        if number == 0:
            entry.header.make.wrappers.add(name="stranger:Wrapper")

    monkeypatch.chdir(tmp_path)
    Path("stranger.py").write_text("open('imported', 'w').close()")
    path = edited(recorded[0], tmp_path / recorded[0].name, name_wrapper)
    for command in (("replay", path), ("export", path, "--gif", "film.gif")):
        told = envwire(*command)
        assert (told.exit_code, "--import stranger" in told.output) == (1, True), told.output
    assert not Path("imported").exists()
    assert "Wrapper" in envwire("replay", path, "--import", "stranger").output
    assert Path("imported").exists()


def test_a_recorded_request_of_no_kind_is_reported(
    recorded: tuple[Path, Seen], tmp_path: Path
) -> None:
    def empty(number: int, entry: Any) -> None:
        if number == 3:
            entry.request.ClearField("step")

    told = envwire("replay", edited(recorded[0], tmp_path / recorded[0].name, empty))
    assert (told.exit_code, "damaged" in told.output) == (1, True), told.output
