"""Arrays and numbers of other libraries travel as what they stand for; those that cannot be read are named."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from envwire.codec import CodecError, Opaque, decode_value, encode_value
from envwire.codec.family import envwire_family
from envwire.codec.fastpath.step_codec import FixedPartsStepCodec
from envwire.codec.steps import StepCodec
from envwire.codec.values.foreign import adopted
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2

FAMILY = envwire_family()


class Tensor:
    """An array of another library; as torch's, it has a method `size`, and is true if its only element is."""

    def __init__(self, value: Any) -> None:
        self._array = np.asarray(value)
        self.ndim = self._array.ndim

    def size(self) -> tuple[int, ...]:
        return self._array.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array

    def __bool__(self) -> bool:
        return bool(self._array)


class Exchanged:
    """An array that is exchanged by DLPack only."""

    def __init__(self, value: Any) -> None:
        self._array = np.asarray(value)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnDevice:
    """A tensor that NumPy cannot read, as one in a GPU's memory."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")


class WithGradient(Tensor):
    """A tensor that only `float` reads, as one of torch with a gradient."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __float__(self) -> float:
        return float(self._array)


class Index:
    def __index__(self) -> int:
        return 7


class Color(Enum):
    RED = 1

    def __float__(self) -> float:
        return 1.0


def sent(value: Any, *, opaque: bool = False) -> Any:
    message = values_pb2.Value()
    encode_value(value, message, "action", opaque=opaque)
    return decode_value(message, FAMILY)


@pytest.mark.parametrize(
    ("value", "arrived"),
    [
        (Tensor([1.0, 2.0]), np.array([1.0, 2.0])),
        (Tensor(False), np.array(False)),
        (Exchanged(np.arange(6, dtype=np.int32)), np.arange(6, dtype=np.int32)),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (Index(), 7),
        (WithGradient(0.5), 0.5),
        ({"a": [Tensor(3)]}, {"a": [np.array(3)]}),
    ],
)
@pytest.mark.parametrize("opaque", [False, True])
def test_what_stands_for_a_value_travels_as_it(value: Any, arrived: Any, opaque: bool) -> None:
    assert identical(sent(value, opaque=opaque), arrived)


def test_a_tensor_that_cannot_be_read_is_named_with_the_remedy() -> None:
    with pytest.raises(CodecError, match=r'action\["a"\].*OnDevice.*cuda:0.*\.cpu\(\)'):
        sent({"a": OnDevice()})


def test_an_array_that_cannot_be_read_is_no_number() -> None:
    with pytest.raises(CodecError, match="requires grad"):
        sent(WithGradient([0.5]))


def test_an_array_of_objects_of_another_library_is_not_guessed_at() -> None:
    with pytest.raises(CodecError, match="its elements are objects"):
        sent(Tensor([{"a": 1}, None]))


def test_enumerations_are_no_numbers() -> None:
    with pytest.raises(CodecError, match="Color"):
        sent(Color.RED)


class Pair(tuple[int, int], Enum):
    ONE = (1, 2)


def test_enumerations_of_other_values_are_not_those_values() -> None:
    with pytest.raises(CodecError, match="Pair"):
        sent(Pair.ONE)


class _Graded:
    """A tensor of torch with a gradient."""

    __module__ = "torch"
    is_cuda, requires_grad = False, True

    def __init__(self, value: Any) -> None:
        self._array = np.asarray(value)
        self.ndim = self._array.ndim

    def detach(self) -> Any:
        return Tensor(self._array)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_a_number_comes_without_its_gradient_and_an_array_is_not_taken_from_it() -> None:
    assert sent(_Graded(0.5)) == 0.5
    with pytest.raises(CodecError, match="requires grad"):
        sent(_Graded([0.5]))


def test_a_stand_in_that_is_not_filled_yet_has_no_attributes() -> None:
    """Copying and pickling ask one."""
    for name in ("type_name", "text", "__setstate__"):
        assert not hasattr(Opaque.__new__(Opaque), name)


@pytest.mark.parametrize("ask", [bool, float])
def test_a_stand_in_is_neither_true_nor_a_number(ask: Any) -> None:
    with pytest.raises(TypeError, match=r"a lib\.Simulator stayed on the server"):
        ask(Opaque("lib.Simulator", "<Simulator>"))


def test_a_stand_in_says_where_to_use_the_object() -> None:
    stand_in = Opaque("lib.Simulator", "<Simulator>")
    with pytest.raises(AttributeError, match=r"stayed on the server.*without 'lives'.*wrappers="):
        stand_in.lives()
    assert pickle.loads(pickle.dumps(copy.deepcopy(stand_in))) == stand_in


@pytest.fixture(params=[StepCodec, FixedPartsStepCodec])
def codec(request: pytest.FixtureRequest) -> StepCodec:
    return request.param(FAMILY)  # type: ignore[no-any-return]


def answered(codec: StepCodec, *outcome: Any) -> tuple[Any, pb.StepResponse]:
    raw = codec.encode_response((np.zeros(2), *outcome, {}))
    read = codec.decode_response(raw)
    assert read is not None
    return read[1:4], pb.InteractResponse.FromString(raw).step


@pytest.mark.parametrize(
    ("outcome", "values", "plain"),
    [
        (
            (Tensor(1.5), Tensor(False), Tensor(True)),
            (np.array(1.5), np.array(False), np.array(True)),
            (1.5, False, True),
        ),
        ((Decimal("0.5"), False, False), (0.5, False, False), (0.5, False, False)),
        ((np.array([2.0]), np.array([True]), np.array([False])),) * 2 + ((2.0, True, False),),
        ((np.float32(2), np.bool_(True), False),) * 2 + ((2.0, True, False),),
    ],
)  # fmt: skip
def test_rewards_and_flags_have_their_values_in_the_plain_fields(
    codec: StepCodec, outcome: Any, values: Any, plain: tuple[float, bool, bool]
) -> None:
    for _ in range(2):  # the second step takes the fast path
        read, step = answered(codec, *outcome)
        assert identical(read, values)
        assert (step.reward, step.terminated, step.truncated) == plain


@pytest.mark.parametrize("name", ["reward", "terminated", "truncated"])
def test_a_reward_or_flag_is_never_a_stand_in(codec: StepCodec, name: str) -> None:
    outcome = {"reward": 1.0, "terminated": False, "truncated": False, name: len}
    with pytest.raises(CodecError, match=f"{name} is a builtins.builtin_function_or_method"):
        codec.encode_response((np.zeros(2), *outcome.values(), {}))


def test_a_reward_of_several_numbers_has_no_plain_value(codec: StepCodec) -> None:
    read, step = answered(codec, np.array([1.0, 2.0]), False, False)
    assert identical(read[0], np.array([1.0, 2.0]))
    assert np.isnan(step.reward)


@pytest.mark.parametrize("kind", [StepCodec, FixedPartsStepCodec])
@pytest.mark.parametrize("count", [1, 3])
def test_members_of_a_vector_have_no_plain_values(kind: Any, count: int) -> None:
    outcome = np.ones(count), np.ones(count, np.bool_), np.zeros(count, np.bool_)
    codec = kind(FAMILY, vector=True)
    for info in ({}, {"a": 1}):
        raw = codec.encode_response((np.zeros((count, 2)), *outcome, info))
        step = pb.InteractResponse.FromString(raw).step
        assert np.isnan(step.reward)
        assert not step.terminated
        assert identical(codec.decode_response(raw)[1:4], outcome)


class _Tensor:
    """A tensor of torch on a GPU, as far as its methods say."""

    __module__ = "torch"
    is_cuda = True

    def cpu(self) -> Any:
        return np.arange(3)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


class _CupyArray(_Tensor):
    """The same of CuPy."""

    __module__ = "cupy"

    def get(self) -> Any:
        return np.arange(3)


@pytest.mark.parametrize("kind", [_Tensor, _CupyArray])
def test_arrays_come_out_of_the_memory_of_a_gpu(kind: type[Any]) -> None:
    found = adopted(kind())
    assert found.tolist() == [0, 1, 2]
