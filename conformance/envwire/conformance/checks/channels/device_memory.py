"""Memory of a device that client and server share: checked with memory of the host, which needs no GPU."""

from __future__ import annotations

import mmap
from collections.abc import Callable

from envwire.codec import Reason
from envwire.conformance.checks.channels.frames import elements
from envwire.conformance.checks.channels.mailbox import on_unix
from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.conformance.raw import Answer, DirectLink, Session
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import DATA_TYPE_UINT8, Tensor, Value

_DIRECT = ("direct",)
_HOST = direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_HOST)
_ALIGNMENT = 256


def _open(
    context: CheckContext, made: pb.MakeResponse, device: direct_pb2.DeviceIdentity = _HOST
) -> DirectLink:
    link = on_unix(context, made)
    header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    link.hello(header, device=device)
    return link


def _mapped(link: DirectLink) -> mmap.mmap:
    if link.device_memory is None:
        raise FailedError(
            "memory of the host in the welcome, and its descriptor with the first byte"
        )
    return link.device_memory


def _echo(context: CheckContext) -> tuple[Session, DirectLink]:
    """Makes a session that returns its actions, with memory of the host, and resets it."""
    made = context.make("Echo").made
    link = _open(context, made)
    session = context.attach(made, link)
    session.reset(1)
    return session, link


def _tensor(offset: int, length: int, **fields: bytes) -> Value:
    tensor = Tensor(data_type=DATA_TYPE_UINT8, shape=[length], **fields)  # type: ignore[arg-type]
    tensor.device.offset = offset
    return Value(array=tensor)


def _returned(answer: Answer) -> bytes:
    return elements(answer, answer.of("step").observation.array)


#: Devices that no server has.
_OTHERS: dict[str, direct_pb2.DeviceIdentity] = {
    "none": direct_pb2.DeviceIdentity(),
    "unknown GPU": direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_CUDA, uuid=bytes(16)),
}
#: Tensors that are not inside of a part of so many bytes.
_LIES: dict[str, Callable[[int], Value]] = {
    "behind": lambda room: _tensor(room + _ALIGNMENT, 1),
    "over its end": lambda room: _tensor(room - _ALIGNMENT, 2 * _ALIGNMENT),
    "not aligned": lambda _: _tensor(1, 1),
    "data besides": lambda _: _tensor(0, 1, data=b"1"),
}


@check("DEVICE-1 DEVICE-2 DEVICE-4 DEVICE-11", over=_DIRECT, profile="device")
def memory_of_a_device_is_described(context: CheckContext) -> None:
    """The welcome says how long both parts are, and its descriptor can be mapped."""
    link = _open(context, context.make("Echo").made)
    layout = link.welcome.device_memory
    expect(0 < layout.answer_bytes < layout.bytes, "two parts")
    expect_equal(len(_mapped(link)), layout.bytes, "bytes of the memory")


@check("DEVICE-10", over=_DIRECT, profile="device")
def memory_of_a_device_keeps_its_size(context: CheckContext) -> None:
    """Memory of the host is sealed: it can neither grow nor shrink."""
    link = _open(context, context.make("Echo").made)
    _mapped(link)
    expect(not link.resizable, "memory that cannot change its size")


@cases(_OTHERS, "DEVICE-1 DEVICE-3", over=_DIRECT, profile="device")
def other_devices_are_not_offered(context: CheckContext, device: direct_pb2.DeviceIdentity) -> None:
    """A device that the session has not is not offered, and the channel is like any other."""
    made = context.make("Echo").made
    link = _open(context, made, device)
    expect(not link.welcome.HasField("device_memory"), "no memory")
    context.attach(made, link).reset(1)


@check("DEVICE-5 DEVICE-7", over=_DIRECT, profile="device")
def elements_are_read_from_the_part_of_the_client(context: CheckContext) -> None:
    """An action in the memory reaches the environment, as it was when the request was sent."""
    session, link = _echo(context)
    memory, start = _mapped(link), link.welcome.device_memory.answer_bytes
    for offset, sent in ((0, b"first"), (_ALIGNMENT, b"second"), (0, b"third")):
        memory[start + offset : start + offset + len(sent)] = sent
        answer = session.ask("step", action=_tensor(offset, len(sent)))
        expect_equal(_returned(answer), sent, "the elements of the action")


@cases(_LIES, "DEVICE-6", over=_DIRECT, profile="device")
def elements_outside_of_the_part_are_refused(
    context: CheckContext, lie: Callable[[int], Value]
) -> None:
    """A tensor that is not inside of its part is invalid, and the session goes on."""
    session, link = _echo(context)
    layout = link.welcome.device_memory
    room = (layout.bytes - layout.answer_bytes) // _ALIGNMENT * _ALIGNMENT
    session.ask("step", action=lie(room)).refused(Reason.INVALID_VALUE)
    session.step(1)


@check("DEVICE-8 DEVICE-9", over=_DIRECT, profile="device")
def a_later_channel_has_the_same_memory(context: CheckContext) -> None:
    """A repeated request finds its elements, and its answer is the same on a channel without the memory."""
    session, link = _echo(context)
    start = link.welcome.device_memory.answer_bytes
    _mapped(link)[start : start + 4] = b"kept"
    request = session.request("step", action=_tensor(0, 4))
    session.number += 1
    first = session.send(request)
    again = _open(context, session.made)
    expect_equal(_mapped(again)[start : start + 4], b"kept", "bytes of the memory")
    expect_equal(_returned(session.send(request, again)), _returned(first), "the kept answer")
    without = _open(context, session.made, direct_pb2.DeviceIdentity())
    expect_equal(_returned(session.send(request, without)), b"kept", "the kept answer")
