"""Shared memory: large frames that bypass the socket."""

from __future__ import annotations

from envwire.conformance.checks.channels.frames import elements
from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.conformance.raw import Answer, DirectLink, Session
from envwire.conformance.raw.values import counted, integer
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb

_DIRECT = ("direct",)
#: Size of a frame that goes into shared memory if it fits into a slot, in bytes.
_LARGE = 100_000


def _open(context: CheckContext, made: pb.MakeResponse) -> DirectLink:
    unix = next(one for one in made.direct.addresses if one.startswith("unix-abstract:"))
    link = context.connect(made, unix)
    header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    expect(link.hello(header, shared_memory=True).welcome.HasField("shared_memory"), "memory")
    return link


def _big(context: CheckContext) -> tuple[Session, DirectLink]:
    made = context.make("Big").made
    link = _open(context, made)
    session = context.attach(made, link)
    session.reset(1)
    return session, link


def _stepped(session: Session, size: int) -> Answer:
    answer = session.ask("step", action=integer(size))
    tensor = answer.of("step").observation.array
    expect(elements(answer, tensor) == counted(size), "the elements that the environment returned")
    return answer


def _given_back(link: DirectLink, slot: int) -> None:
    if link.memory is None:
        raise FailedError("memory")
    link.memory[slot - 1] = 0


@check("MEMORY-1 MEMORY-2 MEMORY-3", over=_DIRECT, profile="shared-memory")
def memory_is_described(context: CheckContext) -> None:
    """The welcome describes slots that do not overlap their state bytes, and its descriptor can be mapped."""
    _, link = _big(context)
    layout = link.welcome.shared_memory
    expect(layout.slots > 0, "a slot at least")
    expect(layout.first_slot >= layout.slots, "a byte for each slot before the first")
    expect(link.memory is not None, "a descriptor with the first byte")


@check("MEMORY-7", over=_DIRECT, profile="shared-memory")
def memory_keeps_its_size(context: CheckContext) -> None:
    """The memory is sealed: it can neither grow nor shrink."""
    _, link = _big(context)
    expect(link.memory is not None and not link.resizable, "memory that cannot change its size")


@check("MEMORY-4 MEMORY-5 FRAME-2", over=_DIRECT, profile="shared-memory")
def a_large_frame_is_in_a_slot(context: CheckContext) -> None:
    """A large frame's header names a slot, whose state byte is 1, and nothing follows the message."""
    session, link = _big(context)
    answer = _stepped(session, _LARGE)
    expect(answer.slot > 0, "a slot")
    _given_back(link, answer.slot)
    expect_equal(_stepped(session, 10).slot, 0, "the slot of a small frame")


@check("MEMORY-5", over=_DIRECT, profile="shared-memory")
def a_slot_is_left_alone_until_it_is_given_back(context: CheckContext) -> None:
    """Frames in use keep their elements; a released slot is used again."""
    session, link = _big(context)
    first = _stepped(session, _LARGE)
    second = _stepped(session, _LARGE)
    expect(first.slot != second.slot, "another slot while the first is in use")
    for answer in (first, second):
        if answer.slot:
            _given_back(link, answer.slot)
    expect(_stepped(session, _LARGE).slot > 0, "a slot again")


@check("MEMORY-6", over=_DIRECT, profile="shared-memory")
def without_a_free_slot_it_comes_on_the_socket(context: CheckContext) -> None:
    """When all slots are in use, frames arrive whole on the socket."""
    session, link = _big(context)
    slots = [_stepped(session, _LARGE).slot for _ in range(link.welcome.shared_memory.slots + 2)]
    used = [slot for slot in slots if slot]
    expect_equal(len(set(used)), len(used), "different slots")
    expect_equal(slots[-1], 0, "the slot of the last frame")


@check("MEMORY-6", over=_DIRECT, profile="shared-memory")
def a_frame_that_fits_into_no_slot_comes_on_the_socket(context: CheckContext) -> None:
    """A frame larger than a slot arrives whole on the socket."""
    session, link = _big(context)
    size = link.welcome.shared_memory.slot_bytes + 1
    expect_equal(_stepped(session, size).slot, 0, "the slot")


@check("MEMORY-8", over=_DIRECT, profile="shared-memory")
def each_channel_has_its_own_memory(context: CheckContext) -> None:
    """A new channel has its own memory, with all slots free; that of the earlier one is unchanged."""
    session, first = _big(context)
    kept = _stepped(session, _LARGE)
    layout = first.welcome.shared_memory
    start = layout.first_slot + (kept.slot - 1) * layout.slot_bytes
    session.link = second = _open(context, session.made)
    expect(_stepped(session, _LARGE).slot > 0, "a slot of the new memory")
    expect(first.memory is not None and second.memory is not None, "two memories")
    if first.memory is not None:
        expect(first.memory[start : start + 100] == counted(100), "the earlier frame as it was")


@check("BOUND-9", over=_DIRECT, profile="shared-memory")
def there_is_none_over_tcp(context: CheckContext) -> None:
    """A hello over TCP that asks for memory gets none."""
    made = context.make("Big").made
    link = context.connect(made)
    header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    welcome = link.hello(header, shared_memory=True).welcome
    expect(not welcome.HasField("shared_memory"), "a welcome without memory")
