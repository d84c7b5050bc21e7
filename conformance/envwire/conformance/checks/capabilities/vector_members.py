"""Vector environments: attributes, methods, options and infos of their members."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.checks.capabilities.vectors import COUNT, actions, vector
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import dictionary, entries, int64s, integer, look_up, sequence
from envwire.conformance.suite import CheckContext, Level, check
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import ValueList, ValueMap


@check("VECTOR-19", profile="vector")
def an_attribute_is_everybodys(context: CheckContext) -> None:
    """GetAttribute answers a tuple with the attribute of each member, or of the named members."""
    session = vector(context)
    answer = session.ask("get_attribute", name="length").of("get_attribute")
    expect_equal(list(answer.value.tuple.values), [integer(10)] * COUNT, "length")
    one = session.ask("get_attribute", name="length", members=[1]).of("get_attribute")
    expect_equal(list(one.value.tuple.values), [integer(10)], "length of member 1")


@check("VECTOR-20", profile="vector")
def an_attribute_is_set_for_each(context: CheckContext) -> None:
    """SetAttribute with a list sets one value for each member."""
    session = vector(context)
    values = sequence(integer(1), integer(2), integer(3))
    session.ask("set_attribute", name="length", value=values).of("set_attribute")
    answer = session.ask("get_attribute", name="length").of("get_attribute")
    wanted = [integer(1), integer(2), integer(3)]
    expect_equal(list(answer.value.tuple.values), wanted, "length")


@check("VECTOR-19", profile="vector")
def a_method_is_called_on_members(context: CheckContext) -> None:
    """CallMethod calls the method once on each named member."""
    session = vector(context)
    session.reset(1)
    args = ValueList(values=[integer(4)])
    answer = session.ask("call_method", name="add", args=args, members=[0, 2]).of("call_method")
    expect_equal(list(answer.result.tuple.values), [integer(4)] * 2, "the sums")
    observation = session.step(actions(0, 0, 0)).observation
    expect_equal(int64s(observation), [2, 4, 1, 0, 2, 4], "steps and sums")


@check("VECTOR-19", profile="vector")
def an_unknown_member_is_refused(context: CheckContext) -> None:
    """Naming a member that does not exist is refused, and the session goes on."""
    session = vector(context)
    session.reset(1)
    answer = session.ask("get_attribute", name="length", members=[COUNT])
    answer.refused(Reason.INVALID_VALUE, Reason.MALFORMED_REQUEST, Reason.ATTRIBUTE_MISSING)
    if answer.info.reason == Reason.MALFORMED_REQUEST.name:
        session.number -= 1
    session.step(actions(0, 0, 0))


@check("VECTOR-22", profile="vector")
def generators_are_copies(context: CheckContext) -> None:
    """Reading "np_random" answers with a copy of each member's generator."""
    session = vector(context)
    session.reset(1)
    answer = session.ask("get_attribute", name="np_random").of("get_attribute")
    expect_equal(len(answer.member_random), COUNT, "the number of generators")


@check("VECTOR-10", profile="vector")
def members_may_have_options_of_their_own(context: CheckContext) -> None:
    """Each member gets its own options from member_options."""
    session = vector(context)
    answer = session.reset(1, member_options=[ValueMap()] * COUNT)
    expect_equal(int64s(answer.observation), [0, 0] * COUNT, "steps and sums")


@check("VECTOR-23", profile="vector")
def resets_of_members_are_told(context: CheckContext) -> None:
    """With report_member_resets, answers name the members reset without a seed, or at the end of an episode."""
    asked = pb.VectorRequest(num_envs=COUNT, report_member_resets=True)
    session = context.make(vector=asked)
    expect_equal(
        len(session.reset(1).member_resets), 0, "resets without a seed, in one that has a seed"
    )
    everybody = [told.member for told in session.reset().member_resets]
    expect_equal(everybody, list(range(COUNT)), "the members that were reset")
    told = [list(session.step(actions(0, 0, 0)).member_resets) for _ in range(11)]
    expect_equal([len(one) for one in told], [0] * 10 + [COUNT], "resets in the steps")
    expect(told[-1][0].HasField("np_random"), "the state of a generator before")


@check("VECTOR-17", profile="vector")
def a_dictionary_in_infos_is_one_of_columns(context: CheckContext) -> None:
    """A dictionary in the infos becomes a dictionary of columns, each with its mask."""
    session = context.make("Echo", vector=pb.VectorRequest(num_envs=COUNT))
    info = session.reset(options=entries(inner=dictionary(a=integer(1)))).info
    inner = look_up(info, "inner").dict
    expect_equal(int64s(look_up(inner, "a")), [1] * COUNT, "the column of its key")
    expect_equal(look_up(inner, "_a").array.data, b"\x01" * COUNT, "its mask")
    expect_equal(look_up(info, "_inner").array.data, b"\x01" * COUNT, "the mask of the dictionary")


@check("VECTOR-2", profile="vector", level=Level.RECOMMENDED)
def wrappers_go_around_each_member(context: CheckContext) -> None:
    """The library's TimeLimit wrapper truncates the episode of each member."""
    wrapper = pb.WrapperRequest(name="TimeLimit", kwargs=entries(max_episode_steps=integer(1)))
    answer = context.ask_make(wrappers=[wrapper], vector=pb.VectorRequest(num_envs=COUNT))
    if answer.info.reason in {Reason.WRAPPER_NOT_ALLOWED, Reason.UNSUPPORTED}:
        raise SkippedError(f"the server has no TimeLimit for clients: {answer.info.reason}")
    session = context.attach(context.made(answer), context.unary)
    session.reset(1)
    found = session.step(actions(0, 1, 0)).typed_truncated.array.data
    expect_equal(found, b"\x01" * COUNT, "typed_truncated")


def _own_form(context: CheckContext) -> Session:
    """Makes CartPole's own vectorised form, which tells of resets where it can."""
    vector = pb.VectorRequest(
        num_envs=COUNT, vectorization_mode="vector_entry_point", report_member_resets=True
    )
    make = pb.MakeRequest(env_id="CartPole-v1", vector=vector)
    answer = context.unary.exchange(pb.InteractRequest(make=make), 60.0)
    if answer.kind == "error":
        raise SkippedError(f"no CartPole-v1 with a form of its own: {answer.info.reason}")
    return context.attach(context.made(answer), context.unary)


@check("VECTOR-21", profile="vector")
def an_own_form_has_attributes_once(context: CheckContext) -> None:
    """An attribute of an environment's own vectorised form is one, not a tuple with one of each member."""
    answer = _own_form(context).ask("get_attribute", name="max_episode_steps").of("get_attribute")
    expect_equal(answer.value, integer(500), "max_episode_steps")


@check("VECTOR-24", profile="vector")
def an_own_form_tells_no_resets(context: CheckContext) -> None:
    """A reset without a seed names no members."""
    session = _own_form(context)
    session.reset(1)
    expect_equal(len(session.reset().member_resets), 0, "resets that are told")
