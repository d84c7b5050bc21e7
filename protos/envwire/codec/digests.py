"""Digests of answers, with which a replay checks that the new environment behaves as the lost one did.

Client and server each keep a running digest of the answers to a recording's requests. It must be the same for every
transport and for two runs of the same environment. So these parts of an answer are left out: warnings; the time of a
step; the text of opaque values, which may contain addresses; `info["episode"]`, in which wrappers report an episode's
duration; the seed of a mirrored generator, which is unknown where its state was set; and changed spaces, whose own
generators may have been seeded by the system. The elements of large tensors are digested after
the message, attached or not. Of an error, only the reason is digested.
"""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

from google.protobuf.message import Message

from envwire.codec.errors.statuses import decode_fault
from envwire.codec.family import envwire_family
from envwire.codec.messages import nested
from envwire.codec.values.tensors import byte_length
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.frames import ATTACHED_FROM, Area

CHECKPOINT: Final = 64
"""Requests from one checkpoint of a recording to the next."""

_DIGEST_BYTES: Final = 16
_LENGTH_BYTES: Final = 8
_EPISODIC: Final = frozenset({"reset", "step"})
_SPACES: Final = "observation_space", "action_space"
_TIMED: Final = "episode"
Digested: TypeAlias = "list[bytes | memoryview]"
"""The parts of an answer that are digested."""

_PLAIN: Final = frozenset(
    {None, "none", "bool_value", "int_value", "float_value", "string_value", "scalar", "array"}
)


def make_digest(request: environment_pb2.MakeRequest) -> bytes:
    """Returns the SHA-256 of a Make, its name in a farm's tickets. Equal Makes differ by their request ids."""
    content = environment_pb2.MakeRequest()
    content.CopyFrom(request)
    content.ClearField("request_id")
    return hashlib.sha256(content.SerializeToString(deterministic=True)).digest()


class RollingDigest:
    """The digest of a recording, request by request.

    Attributes:
        count: Number of requests.
        checkpoints: The digest after every 64th request.
    """

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self.count = 0
        self.checkpoints: list[bytes] = []

    def add(self, answer: bytes | None, area: Area | None = None) -> None:
        """Adds the answer to the next request.

        Args:
            answer: An InteractResponse; None for one that was never received.
            area: Its attachments.
        """
        self.add_digested(None if answer is None else digested(answer, area))

    def add_digested(self, parts: Digested | None) -> None:
        """Adds the digested parts of the answer to the next request; None for an answer that was never received."""
        if parts is not None:
            head, *elements = parts
            self._hash.update(len(head).to_bytes(_LENGTH_BYTES, "little"))
            self._hash.update(head)
            for each in elements:
                self._hash.update(each)
        self.count += 1
        if self.count % CHECKPOINT == 0:
            self.checkpoints.append(self._hash.digest())

    def value(self) -> bytes:
        """Returns the digest of all answers so far."""
        return self._hash.digest()

    def copy(self) -> RollingDigest:
        """Returns an independent copy."""
        clone = RollingDigest()
        clone._hash = self._hash.copy()
        clone.count, clone.checkpoints = self.count, list(self.checkpoints)
        return clone


def digested(answer: bytes, area: Area | None = None) -> Digested:
    """Returns the digested parts of an answer: the message, then the elements of its large tensors."""
    return digested_message(environment_pb2.InteractResponse.FromString(answer), len(answer), area)


def digested_message(
    response: environment_pb2.InteractResponse, length: int, area: Area | None = None
) -> Digested:
    """Returns the digested parts of a parsed answer, which this changes.

    Args:
        response: The answer.
        length: Its length before parsing, in bytes.
        area: Its attachments.
    """
    kind = response.WhichOneof("response") or "error"
    if kind == "error":
        return [decode_fault(response.error, envwire_family()).reason.value.encode()]
    response.ClearField("notices")
    body = getattr(response, kind)
    body.ClearField("warnings")
    if kind == "step":
        body.ClearField("time")
    if kind == "reset":
        for name in _SPACES:
            body.ClearField(name)
    if kind in _EPISODIC and body.HasField("random"):
        body.random.ClearField("np_random_seed")
    taken: list[bytes | memoryview] = []
    small = area is None and length < ATTACHED_FROM
    if not (small and kind == "step" and _is_plain(body)):
        if kind in _EPISODIC:
            _leave_out_times(body.info)
        _neutralise(response, area, taken)
    return [response.SerializeToString(deterministic=True), *taken]


def _is_plain(step: environment_pb2.StepResponse) -> bool:
    """Returns whether a small answer has nothing to leave out; the full search would cost more than the digest."""
    values = [step.typed_reward, step.typed_terminated, step.typed_truncated]
    for entry in step.info.entries:
        if entry.name == _TIMED:
            return False
        values.append(entry.value)
    return all(value.WhichOneof("kind") in _PLAIN for value in values)


def _leave_out_times(info: values_pb2.ValueMap) -> None:
    for index in reversed(range(len(info.entries))):
        if info.entries[index].name == _TIMED:
            del info.entries[index]


def _neutralise(message: Message, area: Area | None, taken: list[bytes | memoryview]) -> None:
    """Moves large elements out of a message, and deletes the text of opaque values."""
    if isinstance(message, values_pb2.Tensor):
        if byte_length(message) >= ATTACHED_FROM:
            taken.append(_elements(message, area))
    elif isinstance(message, values_pb2.Opaque):
        message.ClearField("text")
    else:
        for child in nested(message):
            _neutralise(child, area, taken)


def _elements(tensor: values_pb2.Tensor, area: Area | None) -> bytes | memoryview:
    elements: bytes | memoryview = tensor.data
    if tensor.HasField("attachment_offset") and area is not None:
        start = tensor.attachment_offset
        elements = area[start : start + byte_length(tensor)].data
        tensor.ClearField("attachment_offset")
    tensor.ClearField("data")
    return elements
