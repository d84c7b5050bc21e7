"""Writes episodes as a CSV table, with a row for each reset and each step."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.server._grammar import counted
from envwire.server._recording.episodes import Episode, episodes
from envwire.server._recording.reader import RecordedSession
from envwire.server.cli._console import tracked

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


def _rows(episode: Episode) -> Iterator[tuple[Any, ...]]:
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
