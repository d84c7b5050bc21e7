"""Make: arguments, answers and repetition."""

from __future__ import annotations

import os
from typing import Any

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw.values import UNKNOWN_FIELD, entries, integer, parsed, text
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.v1 import environment_pb2 as pb


@check("SESSION-17 SESSION-18 SESSION-20")
def a_session_has_id_and_secret(context: CheckContext) -> None:
    """The answer has a session id and a secret of 16 bytes."""
    made = context.make().made
    expect(made.session_id, "a session_id")
    expect_equal(len(made.secret), 16, "the length of the secret")


@check("SESSION-19 SESSION-1")
def sessions_are_told_apart(context: CheckContext) -> None:
    """Two sessions have different ids and secrets, and number their requests separately."""
    first, second = context.make(), context.make()
    expect(first.made.session_id != second.made.session_id, "different ids")
    expect(first.made.secret != second.made.secret, "different secrets")
    first.reset(1)
    first.step(1)
    other = second.reset(1)
    expect_equal(other.observation.array.data, bytes(16), "the other session's count")


@check("SESSION-16")
def a_proxy_learns_all_it_shows(context: CheckContext) -> None:
    """The answer has spaces, reward range, lease, time for a request, and a description of up to 1,000 characters."""
    made = context.make().made
    for name in ("observation_space", "action_space", "reward_range", "lease", "step_timeout"):
        expect(made.HasField(name), f"{name} in the answer")
    expect_equal(len(made.reward_range.tuple.values), 2, "the length of reward_range")
    expect(len(made.description) <= 1000, "a description of at most 1,000 characters")
    expect(made.library, "the library")


@check("SESSION-22", level=Level.RECOMMENDED)
def the_address_can_be_dialled(context: CheckContext) -> None:
    """The advertised address is empty, or HOST:PORT."""
    address = context.make().made.address
    host, _, port = address.rpartition(":")
    expect(not address or (host and port.isdigit()), f"HOST:PORT or nothing, not {address!r}")


#: What a session can do; the last one is a gateway's to say.
_NAMED = {"ahead", "chunk", "replay", "save_state", "times", "fork", "relayed"}


@check("SESSION-26", level=Level.RECOMMENDED)
def capabilities_of_a_session_are_known_names(context: CheckContext) -> None:
    """The session's capabilities are all in the protocol."""
    unknown = set(context.make().made.capabilities) - _NAMED
    expect(not unknown, f"known capabilities, not {sorted(unknown)}")


_UNKNOWN: dict[str, dict[str, Any]] = {
    "id": {"env_id": "Conformance/NoSuchEnvironment-v0"},
    "empty-id": {"env_id": ""},
    "library": {"library": "no-such-library"},
}


@cases(_UNKNOWN, "SESSION-3 SESSION-4")
def what_is_unknown_is_refused(context: CheckContext, fields: dict[str, Any]) -> None:
    """An unknown id or library is answered with UNKNOWN_ENVIRONMENT."""
    request = context.make_request()
    request.MergeFrom(pb.MakeRequest(**fields))
    request.env_id = fields.get("env_id", request.env_id)
    answer = context.unary.exchange(pb.InteractRequest(make=request), context.seconds)
    answer.refused(Reason.UNKNOWN_ENVIRONMENT)


@check("SESSION-4")
def the_library_may_be_named(context: CheckContext) -> None:
    """Naming the id's library makes the environment, and so does preferring a library."""
    library = context.make().made.library
    expect_equal(context.make(library=library).made.library, library, "the library")
    expect_equal(context.make(prefer=library).made.library, library, "the library preferred")
    context.make(prefer="no-such-library")


@cases({"rgb_array": "rgb_array", "ansi": "ansi", "none": None}, "SESSION-6")
def the_render_mode_is_as_asked(context: CheckContext, mode: str | None) -> None:
    """Make answers with the requested render mode, or with none."""
    made = context.make(render_mode=mode).made
    expect_equal(made.render_mode if made.HasField("render_mode") else None, mode, "render_mode")


@check("SESSION-8")
def kwargs_reach_the_environment(context: CheckContext) -> None:
    """A keyword argument of Make reaches the environment: Counter's length."""
    answer = context.ask_make(kwargs=entries(length=integer(2)))
    if answer.info.reason == Reason.KWARGS_NOT_ALLOWED.name:
        raise SkippedError("the operator lists no keyword argument length of Counter")
    session = context.attach(context.made(answer), context.unary)
    session.reset(1)
    expect(not session.step(0).terminated, "the first step of two not to end the episode")
    expect(session.step(0).terminated, "the second step of two to end the episode")


@check("SESSION-10", level=Level.RECOMMENDED)
def wrappers_are_put_around(context: CheckContext) -> None:
    """The library's TimeLimit wrapper truncates the episode."""
    wrapper = pb.WrapperRequest(name="TimeLimit", kwargs=entries(max_episode_steps=integer(1)))
    answer = context.ask_make(wrappers=[wrapper])
    if answer.info.reason in {
        Reason.WRAPPER_NOT_ALLOWED,
        Reason.KWARGS_NOT_ALLOWED,
        Reason.UNSUPPORTED,
    }:
        raise SkippedError(f"the server has no TimeLimit for clients: {answer.info.reason}")
    session = context.attach(context.made(answer), context.unary)
    session.reset(1)
    expect(session.step(0).truncated, "a step that truncates")


@cases({"class": "os:system", "name": "NoSuchWrapper"}, "SESSION-11 SESSION-12")
def other_wrappers_are_refused(context: CheckContext, name: str) -> None:
    """A wrapper that is neither the library's nor listed is refused, not imported."""
    context.make()  # without the environment the check is skipped
    answer = context.ask_make(wrappers=[pb.WrapperRequest(name=name)])
    answer.refused(Reason.WRAPPER_NOT_ALLOWED, Reason.UNSUPPORTED)


@check("SESSION-30 SESSION-31 SESSION-32")
def a_repeated_make_gets_the_same_answer(context: CheckContext) -> None:
    """Repeating a Make with the same request_id returns the same session."""
    name = os.urandom(16)
    first = context.made(context.ask_make(request_id=name))
    again = context.made(context.ask_make(request_id=name))
    expect_equal(again.session_id, first.session_id, "the session of the repeated Make")
    expect_equal(again.secret, first.secret, "its secret")


@check("SESSION-32")
def makes_side_by_side_join(context: CheckContext) -> None:
    """Two equal Makes at the same time, with one request_id, make one session."""
    request = pb.InteractRequest(make=context.make_request(request_id=os.urandom(16)))
    futures = [context.unary.begin(request, 60.0) for _ in range(2)]
    first, second = (context.made(context.unary.await_answer("make", future)) for future in futures)
    expect_equal(second.session_id, first.session_id, "the session of the second Make")


@check("SESSION-33")
def a_request_id_belongs_to_one_make(context: CheckContext) -> None:
    """A different Make with the same request_id is answered with REQUEST_ID_REUSED."""
    name = os.urandom(16)
    context.made(context.ask_make(request_id=name))
    context.ask_make(request_id=name, render_mode="ansi").refused(Reason.REQUEST_ID_REUSED)


@check("SESSION-34")
def a_failed_make_is_not_kept(context: CheckContext) -> None:
    """A request_id whose Make failed can be used again."""
    context.make()  # without the environment the check is skipped
    name = os.urandom(16)
    context.ask_make("NoSuchEnvironment", request_id=name)
    context.ask_make(request_id=name).of("make")


@check("SESSION-35")
def without_a_request_id_each_make_makes_one(context: CheckContext) -> None:
    """Two equal Makes without a request_id make two sessions."""
    expect(context.make().made.session_id != context.make().made.session_id, "two sessions")


@check("COMPAT-2")
def unknown_fields_of_make_are_ignored(context: CheckContext) -> None:
    """A Make with an unknown field makes the environment."""
    request = context.make_request().SerializeToString() + UNKNOWN_FIELD
    context.made(context.unary.exchange_bytes("make", request, 60.0))


@check("VALUE-27", level=Level.RECOMMENDED)
def the_specification_names_the_environment(context: CheckContext) -> None:
    """`spec` has the requested id."""
    made = context.make().made
    expect_equal(made.spec.id, context.env_id("Counter"), "spec.id")


@check("LEASE-13", profile="info", level=Level.RECOMMENDED)
def a_cancelled_make_leaves_no_session(context: CheckContext) -> None:
    """A Make whose call is cancelled while the environment is being made leaves no session behind."""
    slow = entries(seconds=parsed("float_value: 0.5"))
    before = _active(context)
    request = context.make_request("Slow", kwargs=slow)
    future = context.unary.begin(pb.InteractRequest(make=request), 60.0)
    _active(context)  # came behind the Make, which has arrived then
    future.cancel()
    context.make("Slow", kwargs=slow)  # takes as long, and ends later
    expected = f"no more than the {before} sessions of before, and one"
    context.eventually(lambda: _active(context) <= before + 1, expected)


def _active(context: CheckContext) -> int:
    active: int = context.ask("get_server_info").of("get_server_info").active_sessions
    return active


@check("SESSION-8 VALUE-15")
def kwargs_without_a_wire_form_are_refused(context: CheckContext) -> None:
    """A keyword argument without a kind is refused."""
    context.make()  # without the environment the check is skipped
    empty = pb.MakeRequest(kwargs=entries(length=text("")))
    empty.kwargs.entries[0].value.Clear()
    answer = context.ask_make(kwargs=empty.kwargs)
    answer.refused(Reason.INVALID_VALUE, Reason.KWARGS_NOT_ALLOWED)


_CARTPOLE = "CartPole-v1"


@check("SESSION-5")
def an_id_of_several_libraries_is_envwires(context: CheckContext) -> None:
    """Without a library, an id of several libraries means envwire's, whose environment behaves like the others'."""
    listed = context.ask("list_environments").of("list_environments").environments
    libraries = {one.library for one in listed if one.spec.id == _CARTPOLE}
    if len(libraries) < 2:
        raise SkippedError(f"the server has no {_CARTPOLE} of several libraries")
    ways = {
        library: _way(context, pb.MakeRequest(env_id=_CARTPOLE, library=library))
        for library in ("", *sorted(libraries))
    }
    expect_equal(ways[""], ways["envwire"], "the library, and the way of its CartPole")
    expect_equal(len({way for _, way in ways.values()}), 1, "the number of different ways")


def _way(context: CheckContext, request: pb.MakeRequest) -> tuple[str, bytes]:
    """Returns the library of an environment, and the elements of its first observations."""
    made = context.made(context.unary.exchange(pb.InteractRequest(make=request), context.seconds))
    session = context.attach(made, context.unary)
    observations = [session.reset(7).observation, *(session.step(1).observation for _ in range(5))]
    return made.library, b"".join(one.array.data for one in observations)


@check("VALUE-29")
def a_wrapper_may_have_noted_nothing(context: CheckContext) -> None:
    """One that did not note its arguments has `recorded` false, and no arguments."""
    wrappers = context.make("Odd").made.spec.additional_wrappers
    expect_equal([one.recorded for one in wrappers], [False], "recorded, of each wrapper")
    expect(not wrappers[0].HasField("kwargs"), "no arguments")
