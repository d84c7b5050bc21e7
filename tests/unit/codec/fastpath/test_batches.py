"""Steps of vector environments: a layout with gaps says what protobuf says, and leaves to it what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.codec import envwire_family
from envwire.codec.fastpath.step_codec import BatchResponseReader, BatchResponseWriter
from envwire.codec.fastpath.step_responses import StepResponseReader, StepResponseWriter
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2
from envwire.wire.frames import Attachments

RANDOM = np.random.default_rng(5)


def _result(num_envs: int, shape: tuple[int, ...] = (4,), **changes: Any) -> Any:
    values: dict[str, Any] = {
        "observations": RANDOM.random((num_envs, *shape), np.float32),
        "rewards": RANDOM.random(num_envs),
        "terminations": RANDOM.random(num_envs) < 0.5,
        "truncations": RANDOM.random(num_envs) < 0.5,
        "infos": {},
    }
    return tuple((values | changes).values())


def _area(attachments: Attachments) -> Any:
    if not attachments.length:
        return None
    return np.frombuffer(bytearray(b"".join(attachments.buffers)), np.uint8)


@pytest.mark.parametrize("attach", [False, True])
@pytest.mark.parametrize("num_envs", [1, 2, 64, 1024])
def test_the_same_bytes_and_the_same_values(num_envs: int, attach: bool) -> None:
    writer, usual = BatchResponseWriter(), StepResponseWriter(vector=True)
    reader = BatchResponseReader(envwire_family())
    for _ in range(4):
        result = _result(num_envs)
        there, beside = (Attachments() if attach else None for _ in range(2))
        raw = writer.write(result, there)
        assert raw == usual.write(result, beside)
        assert raw is not None
        area = _area(there) if there is not None else None
        read = reader.read(raw, area)
        assert identical(read, result)
        assert read is not None
        for array in read[:4]:
            assert array.flags.writeable
            assert array.flags.c_contiguous


@pytest.mark.parametrize(
    "changes",
    [
        {"infos": {"key": np.arange(3)}},
        {"rewards": np.zeros(3, np.float32)},
        {"rewards": [1.0, 2.0, 3.0]},
        {"observations": np.zeros((3, 5), np.float32)},
        {"observations": np.zeros((3, 4), np.float32)[:, ::-1]},
        {"observations": (np.zeros(3), np.zeros(3))},
        {"observations": np.array(["a", "b", "c"])},
        {"observations": np.zeros((3, 0), np.float32)},
        {"terminations": np.zeros(3, np.int8)},
        {"truncations": False},
    ],
    ids=str,
)
def test_what_is_not_like_the_last_one(changes: dict[str, Any]) -> None:
    writer, reader = BatchResponseWriter(), BatchResponseReader(envwire_family())
    for result in (_result(3), _result(3), _result(3, **changes), _result(3)):
        raw = writer.write(result)
        if raw is None:  # left to protobuf
            continue
        environment_pb2.InteractResponse.FromString(raw)
        read = reader.read(raw)
        assert read is None or identical(read, result)


def test_a_broken_answer_is_left_to_the_usual_reader() -> None:
    writer, reader = BatchResponseWriter(), BatchResponseReader(envwire_family())
    usual = StepResponseReader(envwire_family())
    result = _result(3)
    raw = writer.write(result)
    assert raw is not None
    reader.read(raw)
    for index in range(len(raw)):
        for flip in (1, 64, 255):
            broken = raw[:index] + bytes((raw[index] ^ flip,)) + raw[index + 1 :]
            assert _outcome(reader, broken) == _outcome(usual, broken)
        assert _outcome(reader, raw[:index]) == _outcome(usual, raw[:index])
    assert identical(reader.read(raw), result)


def test_attached_observations_of_another_size_are_left_to_the_usual_reader() -> None:
    writer, reader = BatchResponseWriter(), BatchResponseReader(envwire_family())
    usual, attached = StepResponseReader(envwire_family()), Attachments()
    raw = writer.write(_result(1024), attached)
    area = _area(attached)
    assert raw is not None
    assert area is not None
    assert reader.read(raw, area) is not None
    for wrong in (None, area[:-1], np.append(area, area[:1])):
        assert _outcome(reader, raw, wrong) == _outcome(usual, raw, wrong)


def _outcome(reader: StepResponseReader, raw: bytes, area: Any = None) -> str:
    try:
        return repr(reader.read(raw, area))
    except Exception as error:
        return repr(error)
