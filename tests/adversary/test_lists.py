"""An authenticated client cannot bypass the operator's lists by hiding a Make in another request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from envwire.v1 import environment_pb2 as pb
from tests.adversary.channel import DirectChannel
from tests.adversary.client import Attacker, Stream, verdict
from tests.adversary.ledger import eventually
from tests.adversary.messages import Session, make_request, smuggled, value
from tests.adversary.servers import PUBLIC, Target, attacked

SLEEPER, FORBIDDEN = "adversary/Sleeper-v0", "adversary/Forbidden-v0"
MAX_ENVS = 4
#: Long enough for everything behind it to arrive.
NAP = value(600)
#: What the operator of `public` does not allow.
NOT_LISTED = {
    "environment": make_request(FORBIDDEN),
    "argument": make_request(SLEEPER, kwargs={"path": "/etc/passwd"}),
    "vector": make_request(SLEEPER, num_envs=50),
    "wrapper": make_request(SLEEPER, render_mode="rgb_array", wrappers=("HumanRendering",)),
}
NOT_ALLOWED = {
    "environment": "UNKNOWN_ENVIRONMENT",
    "argument": "KWARGS_NOT_ALLOWED",
    "vector": "CAPACITY_REACHED",
    "wrapper": "WRAPPER_NOT_ALLOWED",
}


def public(sessions_per_process: int) -> Iterator[Target]:
    with attacked(
        SLEEPER,
        sessions_per_process=sessions_per_process,
        max_envs_per_session=MAX_ENVS,
        **PUBLIC,
    ) as target:
        yield target


@pytest.fixture(scope="module")
def own_process_server() -> Iterator[Target]:
    yield from public(1)


@pytest.fixture(scope="module")
def packed_server() -> Iterator[Target]:
    yield from public(4)


@pytest.fixture
def own_process(own_process_server: Target) -> Target:
    own_process_server.forget_traces()
    return own_process_server


@pytest.fixture
def packed() -> Iterator[Target]:
    """A server of its own for each attack: the last one's session may still be where the next one looks."""
    yield from public(4)


@pytest.fixture(params=["own process", "packed"])
def target(
    request: pytest.FixtureRequest, own_process_server: Target, packed_server: Target
) -> Target:
    chosen = own_process_server if request.param == "own process" else packed_server
    chosen.forget_traces()
    return chosen


def joined(stream: Stream, session: Session) -> Stream:
    """Makes a stream one of the session's, by asking for its first answer again."""
    assert verdict(stream.say(session.request("reset", 1))) == "reset"
    return stream


def begun(attacker: Attacker) -> Session:
    session = attacker.make(SLEEPER)
    attacker.ask(session, "reset", 1).answer()
    return session


def hidden(session: Session, make: pb.MakeRequest) -> bytes:
    """Returns a Make that begins like a step of the session."""
    return smuggled(session.request("step", 4), pb.InteractRequest(make=make))


@pytest.mark.parametrize("what", NOT_LISTED)
def test_what_is_not_listed_is_refused_to_those_who_ask_openly(target: Target, what: str) -> None:
    with target.attacker() as attacker:
        assert attacker.begin("Make", NOT_LISTED[what]).verdict() == NOT_ALLOWED[what]
    assert target.traces() == []


@pytest.mark.parametrize("what", NOT_LISTED)
def test_a_make_behind_a_slow_step_and_a_close_on_the_direct_channel(
    own_process: Target, what: str
) -> None:
    with own_process.attacker() as attacker, attacker.stream() as stream:
        session = begun(attacker)
        joined(stream, session)
        with DirectChannel(session) as channel:
            channel.send(
                session.direct_request("step", 2, action=NAP), session.direct_request("close", 3)
            )
            assert eventually(lambda: own_process.traces("naps") != [])
            stream.send(hidden(session, NOT_LISTED[what]))
            assert verdict(channel.receive()) == "step"
            assert verdict(stream.receive()) not in {"make", "step"}
    # The front and the process that it forks from.
    assert eventually(lambda: len(own_process.processes()) <= 2)
    assert own_process.traces() == [["Sleeper", []]]


@pytest.mark.parametrize("what", NOT_LISTED)
def test_a_make_behind_a_slow_step_and_a_close_in_a_shared_process(
    packed: Target, what: str
) -> None:
    with packed.attacker() as attacker, attacker.stream() as stream:
        attacker.make(SLEEPER)  # its neighbour: it keeps the process
        session = begun(attacker)
        joined(stream, session)
        calls = []
        for kind, sequence, fields in (("step", 2, {"action": NAP}), ("close", 3, {})):
            calls.append(attacker.ask(session, kind, sequence, **fields))
            attacker.info()  # it has arrived
        stream.send(hidden(session, NOT_LISTED[what]))
        attacker.info()
        after = attacker.ask(session, "reset", 1)
        assert [call.verdict() for call in calls] == ["answered", "answered"]
        answers = verdict(stream.receive()), after.verdict()
    assert "make" not in answers
    assert "answered" not in answers, "an environment that nobody may make"
    assert packed.traces() == [["Sleeper", []]] * 2


@pytest.mark.parametrize("what", NOT_LISTED)
def test_a_make_that_begins_like_a_step_of_an_idle_session(target: Target, what: str) -> None:
    with target.attacker() as attacker, attacker.stream() as stream:
        session = begun(attacker)
        joined(stream, session)
        assert verdict(stream.say(hidden(session, NOT_LISTED[what]))) in {
            NOT_ALLOWED[what],
            "MALFORMED_REQUEST",
        }
        assert attacker.ask(session, "step", 2, action=value(0)).verdict() == "answered"
    assert target.traces() == [["Sleeper", []]]


@pytest.mark.parametrize("where", ["own_process", "packed"])
def test_requests_behind_a_close_are_told_that_the_session_is_closed(
    where: str, request: pytest.FixtureRequest
) -> None:
    target: Target = request.getfixturevalue(where)
    with target.attacker() as attacker, ExitStack() as stack:
        attacker.make(SLEEPER)  # its neighbour
        session = begun(attacker)
        streams = [joined(stack.enter_context(attacker.stream()), session) for _ in range(4)]
        step = attacker.ask(session, "step", 2, action=NAP)
        attacker.info()
        close = attacker.ask(session, "close", 3)
        attacker.info()
        for sequence, stream in enumerate(streams, 4):
            stream.send(session.request("step", sequence, action=value(0)))
        assert [step.verdict(), close.verdict()] == ["answered", "answered"]
        assert {verdict(stream.receive()) for stream in streams} == {"SESSION_CLOSED"}
    assert target.traces() == [["Sleeper", []]] * 2
