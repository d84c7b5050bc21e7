"""Writes a recording as a film.

The film shows the frames in the recording or, if there are none, frames that are rendered while it is played again.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from envwire.client._errors import checked
from envwire.codec import decode_mapping, decode_value, envwire_family
from envwire.server._grammar import counted
from envwire.server._recording.files import RecordedSession, RecordingError
from envwire.server.cli._console import tracked
from envwire.server.cli._recordings.replayer import difference, replaying, requests
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from envwire.client import Transport

_FPS = 30.0
#: Number of dimensions of a picture: rows, columns, colours.
_PICTURE = 3
_RENDER = pb.InteractRequest(render=pb.RenderRequest())
_SHOWING = frozenset({"reset", "step"})
#: The render mode in which a recording is played again.
_MODE = "rgb_array"
#: Requests that need not be played again.
_SILENT = frozenset({"close", "render"})
#: Requests whose answers may tell of the render mode (`render_mode`, `spec`, a `window`), not of the run.
_OF_THE_MODE = frozenset({"get_attribute"})

Frames = Generator[npt.NDArray[np.uint8], None, None]


def write_film(
    form: str, recordings: list[RecordedSession], path: Path, opened: Callable[[], Transport]
) -> str:
    """Writes the film and returns a description of its contents.

    Args:
        form: "gif" or "mp4".
        recordings: A list with one recording.
        path: The file to write.
        opened: Opens a transport to the environment, if the recording must be played again.

    Raises:
        ImportError: The package that writes such files is not installed.
        RecordingError: There are several recordings, or there is nothing to show in this one.
    """
    if len(recordings) > 1:
        raise RecordingError("a film is of one recording: name one file")
    (recording,) = recordings
    with recording.decoding():
        frames = _recorded(recording)
        first = next(frames, None)
        if first is None:
            frames = _rendered(recording, opened())
            first = next(frames, None)
        if first is None:
            raise RecordingError(
                f"{recording.path} shows nothing: there is neither a frame nor a step"
            )
        with contextlib.closing(frames):
            shown = tracked(itertools.chain([first], frames), "frames")
            return counted(_WRITERS[form](iter(shown), path, _fps(recording)), "frame")


def _fps(recording: RecordedSession) -> float:
    metadata = decode_mapping(recording.header.made.metadata, envwire_family())
    return float(metadata.get("render_fps") or _FPS)


def _recorded(recording: RecordedSession) -> Frames:
    """Yields the frames that the client rendered."""
    for exchange in recording.exchanges():
        answer = exchange.response
        if exchange.kind == "render" and answer is not None and not answer.HasField("error"):
            yield from _pictures(recording, answer)


def _pictures(recording: RecordedSession, response: pb.InteractResponse) -> Frames:
    frame: Any = decode_value(response.render.frame, envwire_family())
    pictures: Any = np.asarray(frame)  # one, or several from a "_list" mode or from members
    if pictures.dtype != np.uint8 or pictures.ndim < _PICTURE:
        return
    if recording.header.made.HasField("vector") and pictures.ndim > _PICTURE:
        pictures = side_by_side(pictures)
    yield from pictures.reshape(-1, *pictures.shape[-_PICTURE:])


def side_by_side(pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Tiles the pictures of all members into one, as square as possible, with empty tiles black."""
    count, height, width, colours = pictures.shape
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    grid: Any = np.zeros((rows * columns, height, width, colours), np.uint8)
    grid[:count] = pictures
    parts = grid.reshape(rows, columns, height, width, colours)
    joined: npt.NDArray[np.uint8] = parts.swapaxes(1, 2).reshape(
        rows * height, columns * width, colours
    )
    return joined


def _rendered(recording: RecordedSession, transport: Transport) -> Frames:
    """Plays the recording again with rendering and yields the frames; the run must match the recording."""
    make = pb.MakeRequest()
    make.CopyFrom(recording.header.make)
    make.render_mode = _MODE
    unlike = _OF_THE_MODE if recording.header.make.render_mode != _MODE else frozenset[str]()
    # Without a display SDL, which draws for pygame, warns and then falls back to this driver.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    with replaying(transport, make) as replayer:
        for number, (request, exchange) in enumerate(requests(recording), 1):
            if exchange.response is None or exchange.kind in _SILENT:
                continue
            answer = replayer.ask(request)
            found = difference(exchange.response, answer) if exchange.kind not in unlike else None
            if found is not None:
                raise RecordingError(
                    f"{recording.path} holds no frames, and goes another way when it is played again, from request "
                    f"{number} on: {found.field} was {found.recorded} and is {found.now}. Reset with seeds, or render"
                )
            if exchange.kind in _SHOWING:
                yield from _pictures(recording, checked(replayer.ask(_RENDER)))


def _write_gif(frames: Iterator[Any], path: Path, fps: float) -> int:
    from PIL import Image

    counted = itertools.count()
    pictures = (Image.fromarray(frame) for frame, _ in zip(frames, counted))  # noqa: B905 - counts
    first = next(pictures)
    first.save(path, "GIF", save_all=True, append_images=pictures, duration=1000 / fps, loop=0)
    return next(counted)


def _write_mp4(frames: Iterator[Any], path: Path, fps: float) -> int:
    imageio: Any = importlib.import_module("imageio.v2")
    count = 0
    with imageio.get_writer(path, format="FFMPEG", fps=fps, macro_block_size=2) as writer:
        for frame in frames:
            writer.append_data(frame)
            count += 1
    return count


_WRITERS = {"gif": _write_gif, "mp4": _write_mp4}
