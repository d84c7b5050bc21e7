"""Writes episodes as a CSV table, or as a Minari dataset in the form of Minari's own DataCollector.

A CSV table has a row for each reset and each step.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.codec import decode_env_spec, decode_space, gymnasium_family
from envwire.server._grammar import counted
from envwire.server._recording.episodes import RecordedEpisode, episodes
from envwire.server._recording.files import RecordedSession, RecordingError
from envwire.server.cli._console import tracked
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2

_COLUMNS = (
    *("recording", "member", "episode", "step", "time", "seed", "action", "reward"),
    *("terminated", "truncated", "observation"),
)
#: Observations with more elements, such as images, are written as shape and dtype only.
_ELEMENTS = 256
#: Keys of dictionaries that `json` writes as they are.
_KEYS = (str, int, float, bool, type(None))


def write_csv(recordings: list[RecordedSession], path: Path) -> str:
    """Writes the table and returns a description of its contents.

    Raises:
        OSError: The table cannot be written.
        RecordingError: A recording cannot be read.
    """
    from envwire.codec import envwire_family

    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for recording in tracked(recordings, "recordings"):
            for number, episode in enumerate(episodes(recording, envwire_family())):
                for row in _rows(episode):
                    writer.writerow((recording.path.stem, episode.member, number, *row))
                    count += 1
    return counted(count, "row")


def _rows(episode: RecordedEpisode) -> Iterator[tuple[Any, ...]]:
    first, *rest = episode.observations
    yield 0, "", _text(episode.seed), "", "", "", "", _text(first)
    steps = zip(
        *(episode.times, episode.actions, episode.rewards),
        *(episode.terminations, episode.truncations, rest),
        strict=True,
    )
    for number, (at, action, *told, observation) in enumerate(steps, 1):
        reward, terminated, truncated = map(_text, told)
        yield (
            *(number, f"{at:.6f}", "", _text(action), reward),
            *(terminated, truncated, _text(observation)),
        )


def _text(value: Any) -> str:
    """Returns a value as JSON; empty for None."""
    return "" if value is None else json.dumps(_with_texts_as_keys(value), default=_jsonable)


def _with_texts_as_keys(value: Any) -> Any:
    """Writes keys of dictionaries that JSON does not have, such as tuples, as the text of their own JSON."""
    content = value  # stays of any type
    if isinstance(value, dict):
        return {
            key if isinstance(key, _KEYS) else _text(key): _with_texts_as_keys(item)
            for key, item in content.items()
        }
    if isinstance(value, (list, tuple)):
        return [_with_texts_as_keys(item) for item in content]
    return value


def _jsonable(value: Any) -> Any:
    if hasattr(value, "dtype"):
        array: npt.NDArray[Any] = np.asarray(value)
        if array.size > _ELEMENTS:
            return f"{array.dtype} {array.shape}"
        return _with_texts_as_keys(array.tolist())  # an array of objects may hold dictionaries
    return repr(value)


def write_minari(recordings: list[RecordedSession], name: str, overwrite: bool = False) -> str:
    """Creates the dataset in Minari's own directory and returns a description of its contents.

    Unfinished episodes are left out.

    Args:
        recordings: The recordings.
        name: The dataset's name.
        overwrite: Whether to replace a dataset of this name.

    Raises:
        ImportError: Minari is not installed.
        RecordingError: The recordings are of different environments, or contain no finished episode; or there is a
            dataset of this name, and it is not to be replaced.
    """
    minari: Any = importlib.import_module("minari")
    made = _same(recordings)
    there = name in minari.list_local_datasets()
    if there and not overwrite:
        raise RecordingError(
            f"there is a Minari dataset {name}; replace it with --overwrite, or give another name"
        )
    dataset: Any = None
    kept = left = steps = 0
    for recording in tracked(recordings, "recordings"):
        found = list(episodes(recording, gymnasium_family()))
        whole = [episode for episode in found if episode.ended]
        left += len(found) - len(whole)
        buffers = [_buffer(episode, kept + number) for number, episode in enumerate(whole)]
        if buffers and dataset is None:
            if there:
                minari.delete_dataset(name)
            with recording.decoding():
                dataset = _create(minari, name, buffers, made)
        elif buffers:
            dataset.update_dataset_from_buffer(buffers)
        kept, steps = kept + len(buffers), steps + sum(map(len, buffers))
    if dataset is None:
        raise RecordingError("no episode in these recordings ended: there is nothing to export")
    _describe_episodes(dataset.storage)
    unfinished = f"; {left} that did not end were left out" if left else ""
    return f"{counted(kept, 'episode')}, {counted(steps, 'step')}{unfinished}"


def _same(recordings: list[RecordedSession]) -> pb.MakeResponse:
    """Returns the answer to Make that all recordings share."""
    first = recordings[0].header.made
    for recording in recordings:
        if _spaces(recording.header.made) != _spaces(first):
            raise RecordingError(
                f"{recording.path} is of an environment with other spaces than {recordings[0].path}: export them apart"
            )
    return first


def _spaces(made: pb.MakeResponse) -> tuple[spaces_pb2.Space, spaces_pb2.Space]:
    """Returns the observation and action spaces, of a single member for vector environments."""
    if made.HasField("vector"):
        return made.vector.single_observation_space, made.vector.single_action_space
    return made.observation_space, made.action_space


def _create(minari: Any, name: str, buffers: list[Any], made: pb.MakeResponse) -> Any:
    # Raw arrays, since Minari would compress pictures with losses.
    known = inspect.signature(minari.create_dataset_from_buffers).parameters
    exact = {"jpeg_encoding": False} if "jpeg_encoding" in known else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about missing authors and the like
        return minari.create_dataset_from_buffers(name, buffers, env=_described(made), **exact)


def _describe_episodes(storage: Any) -> None:
    """Adds the sum and mean of rewards to each episode, as the collector does."""
    callbacks: Any = importlib.import_module("minari.data_collector.callbacks")
    storage.update_episode_metadata(storage.apply(callbacks.EpisodeMetadataCallback()))


def _described(made: pb.MakeResponse) -> Any:
    """Returns a stand-in environment with the spaces and the specification that Minari asks for."""
    import gymnasium

    family = gymnasium_family()
    env: Any = gymnasium.Env()
    env.observation_space, env.action_space = (decode_space(each, family) for each in _spaces(made))
    if made.HasField("spec"):
        spec = decode_env_spec(made.spec, family, made.spec.entry_point)
        env.spec = dataclasses.replace(
            spec, vector_entry_point=made.spec.vector_entry_point or None
        )
    return env


def _buffer(episode: RecordedEpisode, number: int) -> Any:
    data_collector: Any = importlib.import_module("minari.data_collector")
    buffer: Any = data_collector.EpisodeBuffer(
        id=number,
        seed=episode.seed,
        options=episode.options,
        observations=episode.observations[0],
    )
    for index, action in enumerate(episode.actions):
        buffer = buffer.add_step_data(
            {
                "action": action,
                "observation": episode.observations[index + 1],
                "reward": episode.rewards[index],
                "terminated": episode.terminations[index],
                "truncated": episode.truncations[index],
                "info": {},
            }
        )
    collected: Any = dataclasses.replace(buffer, infos=None)
    return collected
