"""The usual step, written and read by its fixed parts.

A step's messages differ from the last one's in a few places: the number, the action, the bytes of the observation, the
reward, the flags. These classes write exactly the bytes that protobuf would, and read them, without building messages;
whatever is not the usual step is left to protobuf. They are where a session spends its time: a message costs ten times
as much as joining its bytes.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from google.protobuf.message import DecodeError

from envwire.codec.tensors import Array, is_portable
from envwire.codec.values import encode_value
from envwire.v1 import environment_pb2, values_pb2

_DOUBLE: Final = struct.Struct("<d")
_LENGTH_DELIMITED, _VARINT = 2, 0


def _tag(message: Any, field: str, wire_type: int) -> bytes:
    return bytes((message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type,))


_REQUEST: Final = _tag(environment_pb2.InteractRequest, "step", _LENGTH_DELIMITED)
_SEQUENCE: Final = _tag(environment_pb2.StepRequest, "sequence", _VARINT)
_ACTION: Final = _tag(environment_pb2.StepRequest, "action", _LENGTH_DELIMITED)
_RESPONSE: Final = _tag(environment_pb2.InteractResponse, "step", _LENGTH_DELIMITED)
_OBSERVATION: Final = _tag(environment_pb2.StepResponse, "observation", _LENGTH_DELIMITED)
_REWARD: Final = _tag(environment_pb2.StepResponse, "reward", 1)
_TERMINATED: Final = _tag(environment_pb2.StepResponse, "terminated", _VARINT) + b"\1"
_TRUNCATED: Final = _tag(environment_pb2.StepResponse, "truncated", _VARINT) + b"\1"
_NO_INFO: Final = _tag(environment_pb2.StepResponse, "info", _LENGTH_DELIMITED) + b"\0"
_ZERO: Final = _DOUBLE.pack(0.0)

#: Small integers that are actions over and over.
_REMEMBERED: Final = 1024


def varint(number: int) -> bytes:
    """Returns protobuf's form of a number that is not negative."""
    if number < 0x80:
        return bytes((number,))
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def wrap(number: int, message: bytes) -> bytes:
    """Returns a message that holds another as its field `number`: its bytes behind a tag and a length."""
    return b"".join((varint(number << 3 | _LENGTH_DELIMITED), varint(len(message)), message))


def unwrap(message: bytes) -> tuple[int, bytes]:
    """Returns the number and the bytes of the only field of a message, whose number is below 16.

    Raises:
        ValueError: It is not all there is.
    """
    start = _behind_length(message)
    if start == 0:
        raise ValueError("not a message with one embedded message")
    return message[0] >> 3, message[start:]


def session_header(session_id: str, secret: bytes) -> bytes:
    """Returns what every request of a session begins with, up to its number."""
    header = environment_pb2.SessionHeader(session_id=session_id, secret=secret)
    return header.SerializeToString()


def _serialized(value: Any) -> bytes:
    message = values_pb2.Value()
    encode_value(value, message)
    return message.SerializeToString()


class _ArrayHead:
    """What stands before the bytes of an array of one type and shape, in a Value."""

    def __init__(self, array: Array) -> None:
        self.dtype = array.dtype
        self.shape = array.shape
        self.length = array.nbytes
        self.value = _serialized(array)[: -self.length]

    def fits(self, value: Any) -> bool:
        return type(value) is np.ndarray and value.dtype == self.dtype and value.shape == self.shape


def _head_of(value: Any) -> _ArrayHead | None:
    if type(value) is np.ndarray and value.nbytes and is_portable(value.dtype):
        return _ArrayHead(value)
    return None


class StepRequestWriter:
    """Writes the steps of one session.

    Args:
        session_id: The session.
        secret: Its secret.
    """

    def __init__(self, session_id: str, secret: bytes) -> None:
        self._header = session_header(session_id, secret) + _SEQUENCE
        self._integers: dict[int, bytes] = {}
        self._array: _ArrayHead | None = None

    def write(self, sequence: int, action: Any) -> bytes | None:
        """Returns the InteractRequest of a step; None when the action is not a usual one."""
        value = self._value(action)
        if value is None:
            return None
        body = b"".join((self._header, varint(sequence), _ACTION, varint(len(value)), value))
        return b"".join((_REQUEST, varint(len(body)), body))

    def _value(self, action: Any) -> bytes | None:
        if type(action) is int:
            return self._integers.get(action) or self._remember(action)
        head = self._array
        if head is None or not head.fits(action):
            head = self._array = _head_of(action)
        return None if head is None else head.value + action.tobytes()

    def _remember(self, action: int) -> bytes:
        value = _serialized(action)
        if len(self._integers) < _REMEMBERED:
            self._integers[action] = value
        return value


class StepRequestReader:
    """Reads the steps of one session."""

    def __init__(self) -> None:
        self._header = b""
        self._integers: dict[bytes, int] = {}

    def learn(self, request: environment_pb2.StepRequest) -> None:
        """Takes a step, read by protobuf, as the model of those to come; all steps of a session begin alike."""
        if not self._header:
            self._header = session_header(request.session_id, request.secret) + _SEQUENCE

    def read(self, raw: bytes) -> tuple[int, int] | None:
        """Returns the number and the action of a step; None when it is not a usual one with an integer action."""
        start = _behind_length(raw) if raw[:1] == _REQUEST and self._header else 0
        end = start + len(self._header)
        if start == 0 or raw[start:end] != self._header:
            return None
        sequence, index = _read_varint(raw, end)
        if raw[index : index + 1] != _ACTION:
            return None
        action = self._integers.get(raw[index:])
        if action is None:
            action = self._remember(raw, index)
        return None if action is None else (sequence, action)

    def _remember(self, raw: bytes, index: int) -> int | None:
        """Lets protobuf read an action; a small integer is known from then on."""
        length, start = _read_varint(raw, index + 1)
        if start + length != len(raw):
            return None
        try:
            value = values_pb2.Value.FromString(raw[start:])
        except DecodeError:
            return None
        if value.WhichOneof("kind") != "int_value":
            return None
        if len(self._integers) < _REMEMBERED:
            self._integers[raw[index:]] = value.int_value
        return value.int_value


class StepResponseWriter:
    """Writes the answers to the steps of one session."""

    def __init__(self) -> None:
        self._head: _ArrayHead | None = None
        self._before = b""

    def write(self, observation: Any, reward: Any, terminated: Any, truncated: Any) -> bytes | None:
        """Returns the InteractResponse of a step with an empty info; None when it is not a usual one."""
        if type(reward) is not float or type(terminated) is not bool or type(truncated) is not bool:
            return None
        if (self._head is None or not self._head.fits(observation)) and not self._learn(
            observation
        ):
            return None
        packed = _DOUBLE.pack(reward)
        after = b"".join(
            (
                b"" if packed == _ZERO else _REWARD + packed,
                _TERMINATED if terminated else b"",
                _TRUNCATED if truncated else b"",
                _NO_INFO,
            )
        )
        data = observation.tobytes()
        length = varint(len(self._before) + len(data) + len(after))
        return b"".join((_RESPONSE, length, self._before, data, after))

    def _learn(self, observation: Any) -> bool:
        self._head = head = _head_of(observation)
        if head is not None:
            self._before = _before(head)
        return head is not None


def _before(head: _ArrayHead) -> bytes:
    """Returns what stands before an observation's bytes in a StepResponse."""
    return _OBSERVATION + varint(len(head.value) + head.length) + head.value


class StepResponseReader:
    """Reads the answers to the steps of one session."""

    def __init__(self) -> None:
        self._head: _ArrayHead | None = None
        self._before = b""

    def learn(self, observation: Any) -> None:
        """Takes an observation, read by protobuf, as the model of those to come, unless it is like the last model."""
        if self._head is not None and self._head.fits(observation):
            return
        self._head = head = _head_of(observation)
        if head is not None:
            self._before = _before(head)

    def read(self, raw: bytes) -> tuple[Any, float, bool, bool, dict[Any, Any]] | None:
        """Returns what `Env.step` returns; None when the answer is not a usual one, for protobuf to read."""
        head = self._head
        if head is None or raw[:1] != _RESPONSE:
            return None
        start = _behind_length(raw)
        data = start + len(self._before)
        if start == 0 or raw[start:data] != self._before:
            return None
        rest = _read_rest(raw, data + head.length)
        if rest is None:
            return None
        view: Array = np.ndarray(head.shape, head.dtype, raw, data)
        return (np.array(view), *rest, {})


def _behind_length(raw: bytes) -> int:
    """Returns where the embedded message begins; 0 when it is not all there is."""
    length, start = _read_varint(raw, 1)
    return start if start + length == len(raw) else 0


def _read_varint(raw: bytes, index: int) -> tuple[int, int]:
    """Returns the number at `index` and where it ends; one that has no end in these bytes ends nowhere near them."""
    number, shift = 0, 0
    while index < len(raw) and shift < 70:
        digit = raw[index]
        number |= (digit & 0x7F) << shift
        index, shift = index + 1, shift + 7
        if digit < 0x80:
            return number, index
    return 0, -1


def _read_rest(raw: bytes, index: int) -> tuple[float, bool, bool] | None:
    reward, terminated, truncated = 0.0, False, False
    if raw[index : index + 1] == _REWARD:
        if len(raw) < index + 9:
            return None
        (reward,) = _DOUBLE.unpack_from(raw, index + 1)
        index += 9
    if raw[index : index + 2] == _TERMINATED:
        terminated, index = True, index + 2
    if raw[index : index + 2] == _TRUNCATED:
        truncated, index = True, index + 2
    return (reward, terminated, truncated) if raw[index:] == _NO_INFO else None
