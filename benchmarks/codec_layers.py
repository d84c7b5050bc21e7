"""Measures the gain of each layer of the codec: steps are encoded and decoded with and without it, in turns.

A step here is the encoding and decoding at both ends of a direct channel, or of gRPC for layers that belong there. It
excludes the wire and the environment: the results are recorded. Times are processor time. The column "of a step"
relates the saving to a whole step, which includes the environment's own time and `WIRE`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import envwire.envs
from envwire.codec import decode_value, encode_value, envwire_family
from envwire.codec.fastpath import leaves, values
from envwire.codec.fastpath.attached_arrays import extract_arrays, pieces
from envwire.codec.fastpath.leaves import FastPathMiss, ScalarTemplate
from envwire.codec.fastpath.step_codec import FixedPartsStepCodec
from envwire.codec.steps import StepCodec, StepResult
from envwire.envs import spaces
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Attachments, Packet

#: Microseconds of a step over a direct channel that are spent neither in the environment nor in the codec.
WIRE = 25.0
FAMILY = envwire_family()
RECORDED = 256


class Recording(NamedTuple):
    """Steps of one environment.

    Attributes:
        steps: Actions and results.
        vector: Whether they are batches.
        seconds: Time that the environment takes for one step.
    """

    steps: list[tuple[Any, StepResult]]
    vector: bool
    seconds: float


class Atari(envwire.envs.Env[Any, Any]):
    """Returns frames like a stack of an Atari game's, with the infos of its emulator."""

    observation_space = spaces.Box(0, 255, (84, 84, 4), np.uint8)
    action_space = spaces.Discrete(6)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[Any, Any]]:
        """Starts an episode."""
        super().reset(seed=seed, options=options)
        self._frames = self.np_random.integers(0, 255, (64, 84, 84, 4), np.uint8)
        self._count = 0
        return self._frames[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[Any, Any]]:  # noqa: ARG002
        """Shows the next frame."""
        self._count += 1
        info = {"lives": 3, "episode_frame_number": 4 * self._count, "frame_number": self._count}
        return self._frames[self._count % 64], 1.0, False, False, info


def record(env: Any, vector: bool = False) -> Recording:
    """Returns the first steps of an environment."""
    env.reset(seed=1)
    env.action_space.seed(1)
    steps: list[tuple[Any, StepResult]] = []
    seconds = 0.0
    for _ in range(RECORDED):
        action = env.action_space.sample()
        begun = time.thread_time()
        result = env.step(action)
        seconds += time.thread_time() - begun
        steps.append((action, (np.array(result[0]) if vector else result[0], *result[1:])))
        if not vector and (result[2] or result[3]):
            env.reset()
    return Recording(steps, vector, seconds / RECORDED)


def recordings() -> dict[str, Recording]:
    """Returns the steps with which layers are measured."""
    in_turn, as_one = (
        envwire.envs.make_vec("CartPole-v1", 64, vectorization_mode=mode)
        for mode in ("sync", "vector_entry_point")
    )
    images = envwire.envs.vector.SyncVectorEnv([Atari] * 64)
    return {
        "CartPole": record(envwire.envs.make("CartPole-v1")),
        "Dict grid": record(envwire.envs.make("GridWorld-v0")),
        "image 84x84x4": record(Atari()),
        "vector of 64": record(in_turn, vector=True),
        "64 in one program": record(as_one, vector=True),
        "vector of 64 images": Recording(record(images, vector=True).steps[:16], True, 1e-3),
    }


Drive = Callable[[StepCodec, StepCodec, Any, StepResult, int], object]


def direct(client: StepCodec, server: StepCodec, action: Any, result: StepResult, n: int) -> object:
    """Takes one step as a direct channel does, with large arrays as attachments."""
    server.decode_request(client.encode_request(n, action))
    attachments = Attachments()
    message = server.encode_response(result, attachments)
    if not attachments.length:
        return client.decode_response(message)
    return client.decode_response(message, np.frombuffer(b"".join(attachments.buffers), np.uint8))


def link(_: StepCodec, server: StepCodec, __: Any, result: StepResult, ___: int) -> object:
    """Writes a large answer as a session's process does for the front, with arrays directly in shared memory."""
    attachments = Attachments()
    packet = Packet(server.encode_response(result, attachments), attachments)
    return _laid_down(pieces(packet))


def link_inline(_: StepCodec, server: StepCodec, __: Any, result: StepResult, ___: int) -> object:
    """Writes the same answer without inlining: the arrays are in the message before."""
    return _laid_down([server.encode_response(result)])


_SHARED = bytearray(2**22)


def _laid_down(parts: list[Any]) -> int:
    end = 0
    for part in parts:
        _SHARED[end : end + len(part)] = part
        end += len(part)
    return end


_FRAME = pb.InteractResponse()
encode_value(
    np.random.default_rng(1).integers(0, 255, (400, 600, 3), np.uint8), _FRAME.render.frame
)
_RENDERED = _FRAME.SerializeToString()


def received(*_: Any) -> object:
    """Reads a frame that arrived over gRPC, after taking the arrays' elements out of it."""
    message, area = extract_arrays(_RENDERED)
    return decode_value(pb.InteractResponse.FromString(message).render.frame, None, area=area)


def received_inline(*_: Any) -> object:
    """Reads the same frame without taking the elements out."""
    return decode_value(pb.InteractResponse.FromString(_RENDERED).render.frame, None)


def _nothing(*_: Any) -> None: ...


def _otherwise(_: bytes, otherwise: Any) -> Any:
    return otherwise


@contextmanager
def without_arrays() -> Generator[None]:
    """Encodes and decodes arrays and scalars by protobuf."""
    with patch.object(values, "layout_of", _nothing), patch.object(leaves, "layout_of", _nothing):
        yield


@contextmanager
def without_plain_values() -> Generator[None]:
    """Encodes and decodes plain values and their containers by protobuf."""

    def refuse(self: ScalarTemplate, value: Any = None) -> None:
        original(self, value)
        if value is not None and self._layout is None:  # pyright: ignore[reportPrivateUsage]
            raise FastPathMiss

    original = ScalarTemplate.__init__
    with ExitStack() as stack:
        stack.enter_context(patch.object(ScalarTemplate, "__init__", refuse))
        stack.enter_context(patch.object(values, "_spelled", _nothing))
        stack.enter_context(patch.object(values, "_said", _otherwise))
        yield


@contextmanager
def without_trees() -> Generator[None]:
    """Encodes and decodes dictionaries, lists and tuples by protobuf."""
    build_template = values.build_template

    def refuse(value: Any, mark: bytes | None = None) -> Any:
        if isinstance(value, (dict, list, tuple)):
            raise FastPathMiss
        return build_template(value, mark)

    with patch.object(values, "build_template", refuse):
        yield


def _codec(vector: bool) -> StepCodec:
    return FixedPartsStepCodec(FAMILY, vector=vector)


def _reference(_: bool) -> StepCodec:
    return StepCodec(FAMILY)


def _without_batches(_: bool) -> StepCodec:
    return FixedPartsStepCodec(FAMILY)


class Case(NamedTuple):
    """A layer, and how to take steps without it.

    Attributes:
        of: The recording whose steps are measured.
        off: Switches the layer off.
        codec: Makes the codecs without the layer.
        drive: Takes a step with it.
        without: Takes a step without it.
    """

    of: tuple[str, ...]
    off: Callable[[], AbstractContextManager[Any]] = nullcontext
    codec: Callable[[bool], StepCodec] = _codec
    drive: Drive = direct
    without: Drive = direct


SINGLE = ("CartPole", "Dict grid", "image 84x84x4")
VECTOR = ("vector of 64", "64 in one program", "vector of 64 images")
LAYERS = {
    "all": Case((*SINGLE, *VECTOR), codec=_reference),
    "array layouts": Case(SINGLE, without_arrays),
    "plain values": Case(SINGLE, without_plain_values),
    "trees": Case(SINGLE, without_trees),
    "batches": Case(VECTOR, codec=_without_batches),
    "inlining": Case(VECTOR[2:], drive=link, without=link_inline),
    "outlining, a frame 600x400": Case(SINGLE[:1], drive=received, without=received_inline),
}


def _timed(drive: Drive, ends: tuple[StepCodec, StepCodec], recording: Recording) -> float:
    """Returns the microseconds of a step."""
    client, server = ends
    begun = time.thread_time()
    for number, (action, result) in enumerate(recording.steps, 1):
        drive(client, server, action, result, number)
    return (time.thread_time() - begun) / len(recording.steps) * 1e6


def measure(case: Case, recording: Recording, rounds: int) -> list[tuple[float, float]]:
    """Returns the microseconds of a step with and without a layer, one pair per round."""
    vector = recording.vector
    whole = _codec(vector), _codec(vector)
    pairs: list[tuple[float, float]] = []
    with case.off():
        partial = case.codec(vector), case.codec(vector)
    for turn in range(rounds + 2):  # the first two warm up

        def without() -> float:
            with case.off():
                return _timed(case.without, partial, recording)

        if turn % 2:
            off = without()
            on = _timed(case.drive, whole, recording)
        else:
            on = _timed(case.drive, whole, recording)
            off = without()
        pairs.append((on, off))
    return pairs[2:]


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    table = Table(
        "layer", "steps of", "us with", "us without", "with/without", "range", "of a step"
    )
    recorded = recordings()
    for name, case in track(LAYERS.items(), description="layers"):
        for env in case.of:
            recording = recorded[env]
            pairs = measure(case, recording, rounds)
            on, off = (statistics.median(each) for each in zip(*pairs, strict=True))
            ratios = sorted(mine / other for mine, other in pairs)
            rest = WIRE + recording.seconds * 1e6
            table.add_row(
                name,
                env,
                f"{on:.1f}",
                f"{off:.1f}",
                f"{statistics.median(ratios):.2f}",
                f"{ratios[len(ratios) // 20]:.2f}-{ratios[-1 - len(ratios) // 20]:.2f}",
                f"{(on + rest) / (off + rest):.2f}",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
