"""Fast path for steps of vector environments: four arrays and the fixed bytes between them.

Observations, rewards, terminations and truncations differ from the last ones only in their elements, so a whole answer
is a layout with gaps. An answer that does not fit is left to the reader and writer of single environments, and then to
protobuf. This saves 8 to 9 us per step: 11 % for 4 or 64 CartPoles that step as one NumPy program, 10 % for 8 that
step one after another, 3 % for 64 of those.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from envwire.codec.fastpath.array_layouts import UNKNOWN, ArrayLayout
from envwire.codec.fastpath.step_responses import (
    DOUBLE,
    FLAGS,
    NO_INFO,
    OBSERVATION,
    RESPONSE,
    REWARD,
    TYPED,
    StepResponseReader,
    StepResponseWriter,
)
from envwire.codec.steps import StepResult
from envwire.codec.values.tensors import attached, is_portable
from envwire.wire.frames import ATTACHED_FROM, Area, Attachments
from envwire.wire.varints import varint

_Array: TypeAlias = npt.NDArray[Any]
_Arrays: TypeAlias = "tuple[_Array, _Array, _Array, _Array]"

#: The plain reward and flags of a step whose reward and flags are arrays: NaN and False.
_PLAIN: Final = REWARD + DOUBLE.pack(math.nan) + FLAGS[False, False]


class MessageLayout:
    """The layout of an answer: all its bytes except the elements of its arrays.

    Args:
        arrays: Observations, rewards, terminations, truncations.
        beside: Whether the observations are attached.
    """

    def __init__(self, arrays: _Arrays, beside: bool) -> None:
        self.beside = beside
        self._kinds = tuple((array.dtype, array.shape) for array in arrays)
        self._layouts = tuple(ArrayLayout(array) for array in arrays)
        first, *typed = self._layouts
        observation = first.beside_at(0) if beside else first.inline
        elements = 0 if beside else first.length
        texts = [OBSERVATION + varint(len(observation) + elements) + observation]
        before = _PLAIN
        for mark, layout in zip(TYPED, typed, strict=True):
            texts.append(before + mark + varint(len(layout.inline) + layout.length) + layout.inline)
            before = b""
        texts.append(NO_INFO)
        gaps = [elements, *(layout.length for layout in typed)]
        texts[0] = RESPONSE + varint(sum(map(len, texts)) + sum(gaps)) + texts[0]
        self._texts = tuple(texts)
        self._attached = first.length
        #: Texts and elements, in turns.
        self._pieces = struct.Struct(
            "".join(f"{len(text)}s{gap}s" for text, gap in zip(texts, [*gaps, 0], strict=True))
        )

    def suits(self, arrays: _Arrays) -> bool:
        """Returns whether arrays differ only in their elements."""
        # Unrolled here and below: every step calls this, and a generator alone takes as long as all of it.
        first, second, third, fourth = arrays
        return self._kinds == (
            (first.dtype, first.shape),
            (second.dtype, second.shape),
            (third.dtype, third.shape),
            (fourth.dtype, fourth.shape),
        )

    def write(self, arrays: _Arrays, attachments: Attachments | None) -> bytes:
        """Returns the answer with these arrays."""
        observations, rewards, terminations, truncations = arrays
        texts = self._texts
        if self.beside and attachments is not None:
            attachments.add(observations)
        return b"".join(
            (
                texts[0],
                b"" if self.beside else observations.tobytes(),
                texts[1],
                rewards.tobytes(),
                texts[2],
                terminations.tobytes(),
                texts[3],
                truncations.tobytes(),
                texts[4],
            )
        )

    def read(self, raw: bytes, area: Area | None) -> StepResult | None:
        """Returns the result in an answer; None if the answer has another layout."""
        if len(raw) != self._pieces.size:
            return None
        pieces = self._pieces.unpack(raw)
        if pieces[::2] != self._texts:
            return None
        own, reward, terminated, truncated = self._layouts
        observations = self._attached_in(area) if self.beside else own.read_inline(pieces[1], 0)
        rewards = reward.read_inline(pieces[3], 0)
        terminations = terminated.read_inline(pieces[5], 0)
        truncations = truncated.read_inline(pieces[7], 0)
        unknown = observations is UNKNOWN or rewards is UNKNOWN
        if unknown or terminations is UNKNOWN or truncations is UNKNOWN:
            return None
        return observations, rewards, terminations, truncations, {}

    def _attached_in(self, area: Area | None) -> Any:
        """Returns the attached observations; UNKNOWN if they are not of the last ones' size."""
        if area is None or area.size != self._attached:
            return UNKNOWN
        dtype, shape = self._kinds[0]
        return attached(shape, dtype, area, 0)


def _are_arrays(values: tuple[Any, ...]) -> TypeGuard[_Arrays]:
    first, second, third, fourth = map(type, values)
    return first is second is third is fourth is np.ndarray


class BatchResponseWriter(StepResponseWriter):
    """Writes the answers to the steps of one session with a vector environment."""

    def __init__(self) -> None:
        super().__init__(vector=True)
        self._whole: MessageLayout | None = None

    def write(self, result: StepResult, attachments: Attachments | None = None) -> bytes | None:
        """Returns the InteractResponse of a step; see `StepResponseWriter.write`."""
        arrays = result[:4]
        if result[4] or not _are_arrays(arrays):
            return super().write(result, attachments)
        layout = self._whole
        beside = attachments is not None and arrays[0].nbytes >= ATTACHED_FROM
        if layout is None or layout.beside != beside or not layout.suits(arrays):
            layout = self._whole = _layout_of(arrays, beside)
            if layout is None:
                return super().write(result, attachments)
        return layout.write(arrays, attachments)


class BatchResponseReader(StepResponseReader):
    """Reads the answers to the steps of one session with a vector environment.

    Args:
        family: Classes to build values of.
    """

    _whole: MessageLayout | None = None

    def read(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Returns what `VectorEnv.step` returned; see `StepResponseReader.read`."""
        layout = self._whole
        result = layout.read(raw, area) if layout is not None else None
        if result is not None:
            return result
        result = super().read(raw, area)
        if result is not None and not result[4] and _are_arrays(arrays := result[:4]):
            self._whole = _layout_of(arrays, area is not None)
        return result


def _layout_of(arrays: _Arrays, beside: bool) -> MessageLayout | None:
    regular = all(array.nbytes and is_portable(array.dtype) for array in arrays)
    return MessageLayout(arrays, beside) if regular else None
