"""The front's end of a link: replies belong to the session that asked, and a process that lies is found out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from envwire.server._auth.allow_list import AllowList, MakeOrder
from envwire.server._ipc.frames import (
    HEADER_BYTES,
    SLOT,
    Frame,
    FrameReader,
    Kind,
    pack_header,
    pack_reason,
)
from envwire.server._processes.link import Link, LinkLostError, SessionLink
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

LIMIT = 1000
REPLY = pb.InteractResponse(close=pb.CloseResponse()).SerializeToString()
CARTPOLE = pb.MakeRequest(env_id="CartPole-v1")


class NoSlots:
    """Takes nothing: every message goes over the socket."""

    def put(self, buffers: Any, length: int) -> int:
        return 0


class Wire:
    """A fake asyncio transport that splits the link's writes into frames."""

    def __init__(self) -> None:
        self._reader = FrameReader(LIMIT)
        self.frames: list[Frame] = []
        self.open = True

    def write(self, data: bytes) -> None:
        self.frames += self._reader.feed(data)

    def is_closing(self) -> bool:
        return not self.open

    def close(self) -> None:
        self.open = False


class Heard:
    """The events of a session."""

    label = "session"

    def __init__(self) -> None:
        self.news: list[str] = []

    def on_reply(self) -> None:
        self.news.append("reply")

    def on_closed(self) -> None:
        self.news.append("closed")

    def on_lost(self) -> None:
        self.news.append("lost")


class Scene:
    """A link with the test as its process."""

    def __init__(self) -> None:
        self.lost, self.slots, self.charges = 0, list[int](), list[str]()
        message_slots: Any = NoSlots()
        self.link = Link(LIMIT, message_slots, self._lose, self.slots.append, self.charges.append)
        self.wire = Wire()
        wire: Any = self.wire
        self.link.connection_made(wire)
        self.heard = Heard()

    def _lose(self) -> None:
        self.lost += 1

    def open(self, slot: int = 0) -> SessionLink:
        self.heard = Heard()
        return self.link.open(slot, self.heard)

    def say(self, kind: Kind, number: int, message: bytes = b"") -> None:
        self.link.data_received(pack_header(kind, number, len(message)) + message)


def on_a_loop(test: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    """Runs a test on an event loop, where futures live."""

    async def run() -> None:
        await test(Scene())

    def plain() -> None:
        asyncio.run(run())

    plain.__name__ = getattr(test, "__name__", "")
    return plain


@on_a_loop
async def test_each_order_is_a_frame_of_its_own_kind(scene: Scene) -> None:
    session = scene.open(slot=3)
    forged = bytes([Kind.MAKE]) + CARTPOLE.SerializeToString()
    session.make(AllowList().check(CARTPOLE))
    session.copy()
    session.ask(forged)
    session.ask(b"")
    session.end()
    scene.say(Kind.REPLY, 1, REPLY)
    for _ in range(3):
        scene.say(Kind.REPLY, 1, REPLY)
    scene.say(Kind.CLOSED, 1)
    assert scene.wire.frames == [
        (Kind.MAKE, 1, SLOT.pack(3) + CARTPOLE.SerializeToString()),
        (Kind.COPY, 1, b""),
        (Kind.CLIENT, 1, forged),
        (Kind.CLIENT, 1, b""),
        (Kind.END, 1, b""),
        (Kind.ACK, 1, b""),
    ]
    assert scene.charges == []


def test_an_order_comes_from_the_policy_alone() -> None:
    with pytest.raises(TypeError, match=r"AllowList\.check"):
        MakeOrder(CARTPOLE.SerializeToString(), object())
    request = pb.MakeRequest(env_id="CartPole-v1")
    order = AllowList().check(request)
    request.env_id = "Forbidden-v0"
    assert order.request == CARTPOLE.SerializeToString(), "it is what was checked"


@on_a_loop
async def test_replies_are_those_of_the_session_that_asked(scene: Scene) -> None:
    first, second = scene.open(0), scene.open(1)
    asked = first.ask(b"a"), second.ask(b"b"), first.ask(b"c")
    error = pb.InteractResponse(error=status_pb2.ErrorStatus(message="no")).SerializeToString()
    scene.say(Kind.REPLY, second.number, error)
    scene.say(Kind.REPLY, first.number, REPLY)
    assert [future.done() for future in asked] == [True, True, False]
    assert (asked[0].result(), asked[1].result()) == (REPLY, error)


@on_a_loop
async def test_a_late_reply_is_not_the_slots_next_sessions(scene: Scene) -> None:
    """The defect: it was booked on the next one, which was busy for ever and took its neighbours along."""
    first = scene.open(0)
    late = first.ask(b"slow")
    first.end()
    with pytest.raises(LinkLostError):
        await late
    before = scene.heard
    second = scene.open(0)
    asked = second.ask(b"quick")
    scene.say(Kind.REPLY, first.number, REPLY)
    assert (before.news, scene.heard.news) == ([], []), "nobody waits for it"
    assert not asked.done()
    scene.say(Kind.REPLY, second.number, REPLY)
    assert scene.heard.news == ["reply"]
    assert scene.charges == []


@on_a_loop
async def test_a_slot_is_free_once_the_process_says_so(scene: Scene) -> None:
    session = scene.open(2)
    session.end()
    assert scene.slots == []
    scene.say(Kind.CLOSED, session.number)
    assert scene.slots == [2]


@on_a_loop
async def test_numbers_are_never_used_again(scene: Scene) -> None:
    numbers: list[int] = []
    for _ in range(5):
        session = scene.open(0)
        numbers.append(session.number)
        session.end()
        scene.say(Kind.CLOSED, session.number)
    assert len(set(numbers)) == 5


@on_a_loop
async def test_a_client_that_closes_is_heard_once_and_what_it_asked_meanwhile_is_told(
    scene: Scene,
) -> None:
    session = scene.open(0)
    behind = session.ask(b"behind the close")
    scene.say(Kind.CLOSED, session.number)
    assert scene.heard.news == ["closed"]
    session.end()
    scene.say(Kind.REPLY, session.number, REPLY)
    with pytest.raises(LinkLostError):
        await behind
    assert scene.wire.frames[1:] == [(Kind.ACK, session.number, b"")], "it need not be ended"
    assert scene.charges == []


def reply(number: int, message: bytes) -> bytes:
    return pack_header(Kind.REPLY, number, len(message)) + message


LIES = {
    "a session that never was": reply(7, REPLY),
    "session number 0": reply(0, REPLY),
    "a closed session that never was": pack_header(Kind.CLOSED, 7),
    "a reply to nothing": reply(1, REPLY) * 2,
    "closed twice": pack_header(Kind.CLOSED, 1) * 2,
    "a notice with a message": pack_header(Kind.CLOSED, 1, 3) + b"abc",
    "a frame of the front's": pack_header(Kind.MAKE, 1, len(REPLY)) + REPLY,
    "no kind": b"\0" * (HEADER_BYTES - 9) + b"\1" + b"\0" * 8,
    "too long": pack_header(Kind.REPLY, 1, LIMIT + 1),
    "too long for anything": pack_header(Kind.REPLY, 1, 2**32 - 1),
    "in a slot that holds nothing": pack_header(Kind.REPLY, 1, 200_000, 3),
    "no bytes": reply(1, b""),
    "no message": reply(1, b"\xff" * 20),
    "two answers": reply(1, REPLY + REPLY),
    "cut short": reply(1, REPLY[:-1]),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_process_that_lies_is_found_out(lie: bytes) -> None:
    async def run() -> None:
        scene = Scene()
        session = scene.open(0)
        asked = session.ask(b"a")
        scene.link.data_received(lie)
        assert len(scene.charges) == 1
        assert not scene.wire.open
        scene.link.connection_lost(None)
        assert scene.heard.news[-1:] == ["lost"]
        assert scene.lost == 1
        assert asked.done()
        assert asked.exception() is None or isinstance(asked.exception(), LinkLostError)

    asyncio.run(run())


@on_a_loop
async def test_a_picture_is_asked_for_once_and_delivered_to_all(scene: Scene) -> None:
    session = scene.open()
    first, second = session.render(), session.render()
    assert scene.wire.frames == [(Kind.RENDER, session.number, b"")]
    scene.say(Kind.RENDERED, session.number, pack_reason("not reset"))
    assert (await first).reason == (await second).reason == "not reset"
    session.render()
    assert len(scene.wire.frames) == 2


@on_a_loop
async def test_a_picture_that_nobody_asked_for_is_misbehaviour(scene: Scene) -> None:
    session = scene.open()
    scene.say(Kind.RENDERED, session.number, pack_reason("look at me"))
    assert "was not asked for" in scene.charges[0]


@on_a_loop
async def test_who_waits_for_a_picture_hears_of_the_end(scene: Scene) -> None:
    ended, lost = scene.open(0), scene.open(1)
    waiting = [ended.render(), lost.render()]
    ended.end()
    scene.link.connection_lost(None)
    for future in waiting:
        with pytest.raises(LinkLostError):
            await future
    with pytest.raises(LinkLostError):
        ended.render()


@on_a_loop
async def test_a_session_that_is_opened_when_the_process_is_gone_is_told(scene: Scene) -> None:
    """Its Make would wait for ever: a process may be killed as soon as it is forked."""
    scene.wire.close()
    scene.link.connection_lost(None)
    session = scene.open()
    with pytest.raises(LinkLostError):
        session.ask(b"a")
    await asyncio.sleep(0)
    assert scene.heard.news == ["lost"]
