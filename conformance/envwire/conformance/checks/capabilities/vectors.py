"""Vector environments: making, resetting, stepping."""

from __future__ import annotations

import struct

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import array, int64s, integer, look_up, parsed
from envwire.conformance.suite import CheckContext, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.v1.values_pb2 import Value

#: Number of members of the vectors in these checks.
COUNT = 3


def vector(context: CheckContext, count: int = COUNT, autoreset_mode: str = "") -> Session:
    """Makes a vector of Counter."""
    return context.make(vector=pb.VectorRequest(num_envs=count, autoreset_mode=autoreset_mode))


def actions(*numbers: int) -> Value:
    """Returns a batch of actions."""
    return array(
        values_pb2.DATA_TYPE_INT64, [len(numbers)], struct.pack(f"<{len(numbers)}q", *numbers)
    )


def draws(answer: pb.ResetResponse) -> list[float]:
    """Returns the numbers that the members drew at a reset."""
    return [
        number for (number,) in struct.iter_unpack("<d", look_up(answer.info, "draw").array.data)
    ]


@check("VECTOR-1 VECTOR-8", profile="vector")
def a_vector_is_made(context: CheckContext) -> None:
    """The answer has the batched spaces, the spaces of one member, and the number of members."""
    made = vector(context).made
    expect_equal(made.vector.num_envs, COUNT, "num_envs")
    expect_equal(list(made.observation_space.box.low.shape), [COUNT, 2], "the batched shape")
    expect_equal(list(made.vector.single_observation_space.box.low.shape), [2], "that of a member")
    expect_equal(made.vector.single_action_space.discrete.n, 2, "n of a member's actions")
    expect_equal(made.vector.autoreset_mode, "NEXT_STEP", "autoreset_mode")


@check("VECTOR-1 LIMIT-4", profile="vector")
def a_vector_counts_as_one_session(context: CheckContext) -> None:
    """active_sessions grows by one."""
    before = context.ask("get_server_info").of("get_server_info").active_sessions
    vector(context)
    after = context.ask("get_server_info").of("get_server_info").active_sessions
    expect(after <= before + 1, f"at most {before + 1} sessions, not {after}")


@check("VECTOR-25", profile="vector")
def keyword_arguments_are_for_each_member_or_none(context: CheckContext) -> None:
    """Two members' keyword arguments for a vector of three are refused."""
    request = pb.VectorRequest(num_envs=COUNT, member_kwargs=[values_pb2.ValueMap()] * 2)
    context.ask_make(vector=request).refused(Reason.INVALID_VALUE, Reason.UNSUPPORTED)


@check("VECTOR-26", profile="vector")
def spaces_of_members_that_may_differ_are_told(context: CheckContext) -> None:
    """In observation mode "different" the answer has the space of each member, unless the server lacks that mode."""
    answer = context.ask_make(vector=pb.VectorRequest(num_envs=COUNT, observation_mode="different"))
    if answer.kind == "error":
        answer.refused(Reason.UNSUPPORTED)
        return
    spaces = answer.of("make").vector.member_observation_spaces
    expect_equal([list(each.box.low.shape) for each in spaces], [[2]] * COUNT, "the shapes")


@check("VECTOR-6", profile="vector")
def too_many_members_are_refused(context: CheckContext) -> None:
    """More than max_envs_per_session answers CAPACITY_REACHED."""
    most = context.info.max_envs_per_session
    if not most:
        raise SkippedError("the server names no max_envs_per_session")
    context.ask_make(vector=pb.VectorRequest(num_envs=most + 1)).refused(Reason.CAPACITY_REACHED)


_WRONG = {
    "no-members": pb.VectorRequest(num_envs=0),
    "vectorization-mode": pb.VectorRequest(num_envs=2, vectorization_mode="sideways"),
    "autoreset-mode": pb.VectorRequest(num_envs=2, autoreset_mode="SOMETIMES"),
}


@cases(_WRONG, "VECTOR-4 VECTOR-5", profile="vector")
def a_vector_that_cannot_be_is_refused(context: CheckContext, request: pb.VectorRequest) -> None:
    """A vector without members, or with an unknown mode, is refused."""
    answer = context.ask_make(vector=request)
    answer.refused(Reason.INVALID_VALUE, Reason.UNSUPPORTED, Reason.ENVIRONMENT_RAISED)


@check("VECTOR-12 VECTOR-13", over=ALL, profile="vector")
def members_step_together(context: CheckContext) -> None:
    """Each member steps with its action of the batch; rewards and flags are arrays."""
    session = vector(context)
    session.reset(1)
    answer = session.step(actions(0, 1, 1))
    expect_equal(int64s(answer.observation), [1, 0, 1, 1, 1, 1], "steps and sums")
    rewards = struct.unpack(f"<{COUNT}d", answer.typed_reward.array.data)
    expect_equal(rewards, (0.0, 1.0, 1.0), "typed_reward")
    for name in ("typed_terminated", "typed_truncated"):
        expect_equal(list(getattr(answer, name).array.shape), [COUNT], f"the shape of {name}")


@check("VECTOR-12 SEQUENCE-4", over=ALL, profile="vector")
def a_repeated_vector_step_is_taken_once(context: CheckContext) -> None:
    """A repeated number gets the kept answer, and nothing is stepped again."""
    session = vector(context)
    session.reset(1)
    step = session.request("step", action=actions(1, 1, 1))
    first = session.send(step).of("step")
    expect_equal(session.send(step).of("step"), first, "the repeated answer")
    session.number += 1
    observation = session.step(actions(1, 1, 1)).observation
    expect_equal(int64s(observation), [2, 2] * COUNT, "steps and sums")


@check("VECTOR-9", profile="vector")
def a_seed_is_spread(context: CheckContext) -> None:
    """Member i gets seed + i, or its own seed from a list."""
    session = vector(context)
    spread = draws(session.reset(5))
    expect_equal(len(set(spread)), COUNT, "the number of different draws")
    listed = parsed(
        "list { values { int_value: 5 } values { int_value: 6 } values { int_value: 7 } }"
    )
    expect_equal(draws(session.ask("reset", seed=listed).of("reset")), spread, "the draws")
    single = look_up(context.make().reset(6).info, "draw").float_value
    expect_equal(spread[1], single, "the draw of member 1")


@check("VECTOR-11", profile="vector")
def a_mask_says_who_is_reset(context: CheckContext) -> None:
    """With "reset_mask" only the selected members are reset, and all observations are returned."""
    session = vector(context, autoreset_mode="DISABLED")
    session.reset(1)
    session.step(actions(1, 1, 1))
    mask = array(values_pb2.DATA_TYPE_BOOL, [COUNT], b"\x00\x01\x00")
    options = values_pb2.ValueMap(entries=[values_pb2.ValueEntry(name="reset_mask", value=mask)])
    observation = session.reset(options=options).observation
    expect_equal(int64s(observation), [1, 1, 0, 0, 1, 1], "steps and sums")


#: Observations from the step that ends the episode.
_MODES = {
    "NEXT_STEP": [[10, 0], [0, 0], [1, 0]],
    "SAME_STEP": [[0, 0], [1, 0], [2, 0]],
    "DISABLED": [[10, 0]],
}


@cases({name: name for name in _MODES}, "VECTOR-5 VECTOR-14", profile="vector")
def an_episode_that_ended_is_reset_as_asked(context: CheckContext, mode: str) -> None:
    """The observations around the end of an episode follow the autoreset mode."""
    session = vector(context, 1, autoreset_mode=mode)
    expect_equal(session.made.vector.autoreset_mode, mode, "autoreset_mode")
    session.reset(1)
    for _ in range(9):
        session.step(actions(0))
    found = [int64s(session.step(actions(0)).observation) for _ in _MODES[mode]]
    expect_equal(found, _MODES[mode], "steps and sums from step 10 on")


@check("VECTOR-18 VECTOR-15", profile="vector")
def the_end_of_an_episode_is_in_the_info(context: CheckContext) -> None:
    """With SAME_STEP, "final_obs" holds the last observations, and "_final_obs" marks their members."""
    session = vector(context, 1, autoreset_mode="SAME_STEP")
    session.reset(1)
    for _ in range(9):
        session.step(actions(0))
    info = session.step(actions(0)).info
    members = look_up(info, "final_obs").object_array.values
    expect_equal([int64s(one) for one in members], [[10, 0]], "final_obs")
    expect_equal(look_up(info, "_final_obs").array.data, b"\x01", "_final_obs")


@check("VECTOR-15 VECTOR-16", profile="vector")
def infos_are_columns(context: CheckContext) -> None:
    """A number in each member's info becomes an array, with the mask "_draw"."""
    info = vector(context).reset(1).info
    expect_equal(list(look_up(info, "draw").array.shape), [COUNT], "the shape of the column")
    expect_equal(look_up(info, "_draw").array.data, b"\x01" * COUNT, "_draw")


_BATCHES = {"short": actions(1), "long": actions(1, 1, 1, 1), "single": integer(1)}


@cases(_BATCHES, "VECTOR-12", profile="vector")
def a_batch_of_another_size_is_refused(context: CheckContext, batch: Value) -> None:
    """A batch without exactly one action for each member is refused, and the session goes on."""
    session = vector(context)
    session.reset(1)
    answer = session.ask("step", action=batch)
    expect_equal(answer.kind, "error", "the answer")
    session.reset(1)
    expect_equal(
        int64s(session.step(actions(1, 1, 1)).observation), [1, 1] * COUNT, "steps and sums"
    )
