"""Step and Render."""

from __future__ import annotations

import math

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import dictionary, int64s, integer, parsed, text
from envwire.conformance.suite import CheckContext, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1.values_pb2 import Value


@check("DRIVE-4 STATE-3 VALUE-6", over=ALL)
def a_step_is_taken_once(context: CheckContext) -> None:
    """Each step is taken once, and returns its reward."""
    session = context.start()
    for action, counted in ((1, [1, 1]), (0, [2, 1]), (1, [3, 2])):
        answer = session.step(action)
        expect_equal(int64s(answer.observation), counted, "steps and sum")
        expect_equal(answer.reward, float(action), "the reward")
        expect(not answer.terminated and not answer.truncated, "an episode that goes on")


@check("STATE-4", over=ALL)
def an_episode_ends(context: CheckContext) -> None:
    """The tenth step terminates the episode, and no earlier one."""
    session = context.start()
    ends = [session.step(0).terminated for _ in range(10)]
    expect_equal(ends, [False] * 9 + [True], "terminated of ten steps")


@check("STATE-6 STATE-8")
def nothing_is_reset_by_itself(context: CheckContext) -> None:
    """A step after the end of the episode reaches the environment, which keeps counting."""
    session = context.start()
    for _ in range(10):
        session.step(0)
    expect_equal(int64s(session.step(1).observation), [11, 1], "steps and sum")


@check("STATE-7")
def a_step_before_the_reset_is_the_environments_matter(context: CheckContext) -> None:
    """Counter refuses a step before the first reset with RESET_NEEDED; a reset then succeeds."""
    session = context.make()
    session.ask("step", action=integer(0)).refused(Reason.RESET_NEEDED)
    session.reset(1)


@check("SEQUENCE-7 VALUE-4", over=ALL)
def a_step_without_action_is_refused(context: CheckContext) -> None:
    """A step without an action is answered with INVALID_VALUE; no step is taken, the number is used."""
    session = context.start()
    session.ask("step").refused(Reason.INVALID_VALUE)
    session.ask("step", action=Value()).refused(Reason.INVALID_VALUE)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("ERROR-11")
def a_wrong_action_is_named_as_such(context: CheckContext) -> None:
    """If the environment raises for an action outside its space, the answer is INVALID_ACTION."""
    session = context.start()
    session.ask("step", action=integer(7)).refused(Reason.INVALID_ACTION)
    session.step(1)


@check("ERROR-11")
def an_action_is_not_checked_before_the_step(context: CheckContext) -> None:
    """An action outside the space that the environment accepts is served."""
    session = context.start("Echo")
    expect_equal(session.step(integer(7)).observation, integer(7), "the observation")


@check("DRIVE-5")
def plain_results_are_not_typed(context: CheckContext) -> None:
    """A float reward and two boolean flags have no typed fields."""
    session = context.start("Echo")
    answer = session.step(0)
    for name in ("typed_reward", "typed_terminated", "typed_truncated"):
        expect(not answer.HasField(name), f"no {name}")


_TYPED = {
    "int": (integer(3), 3.0),
    "bool": (parsed("bool_value: true"), 1.0),
    "float32": (parsed(r'scalar { data_type: DATA_TYPE_FLOAT32 data: "\000\000\300?" }'), 1.5),
    "none": (parsed("none { }"), math.nan),
    "list": (parsed("list { values { int_value: 1 } }"), math.nan),
    "text": (text("much"), math.nan),
}


@cases(_TYPED, "DRIVE-5", over=ALL)
def a_reward_of_another_type_is_kept(context: CheckContext, case: tuple[Value, float]) -> None:
    """typed_reward holds the exact reward; reward is its value as a double, or NaN."""
    typed, plain = case
    session = context.start("Echo")
    answer = session.step(dictionary(echo=integer(0), reward=typed))
    expect_equal(answer.typed_reward, typed, "typed_reward")
    same = math.isnan(answer.reward) if math.isnan(plain) else answer.reward == plain
    expect(same, f"a reward of {plain}, not {answer.reward}")


@cases({"terminated": "terminated", "truncated": "truncated"}, "DRIVE-5")
def an_end_of_another_type_is_kept(context: CheckContext, name: str) -> None:
    """typed_terminated and typed_truncated hold flags that are not plain booleans."""
    session = context.start("Echo")
    answer = session.step(dictionary(echo=integer(0), **{name: integer(1)}))
    expect(getattr(answer, name), f"{name} to be true")
    expect_equal(getattr(answer, f"typed_{name}"), integer(1), f"typed_{name}")


@check("DRIVE-26")
def warnings_are_in_the_answer(context: CheckContext) -> None:
    """A step's warning is in its own answer only, with category and text."""
    session = context.start("Echo")
    warned = session.step(dictionary(echo=integer(0), warn=text("slippery"))).warnings
    expect_equal(
        [(one.category, one.text) for one in warned], [("UserWarning", "slippery")], "warnings"
    )
    expect_equal(len(session.step(0).warnings), 0, "warnings of the next step")


@cases({"rgb_array": "rgb_array", "ansi": "ansi", "none": None}, "DRIVE-14", over=ALL)
def a_frame_is_of_its_mode(context: CheckContext, mode: str | None) -> None:
    """Counter's frame is a UINT8 array of shape (8, 8, 3), a text, or None, by render mode."""
    session = context.start(render_mode=mode)
    session.step(0)
    frame = session.ask("render").of("render").frame
    if mode == "rgb_array":
        expect_equal(list(frame.array.shape), [8, 8, 3], "the shape of the frame")
        expect_equal(frame.array.data, bytes([1]) * 192, "its elements")
    elif mode == "ansi":
        expect("1" in (frame.string_value, frame.text_stream), "the text '1'")
    else:
        expect_equal(frame, parsed("none { }"), "the frame")


def _chunk(*actions: int) -> list[Value]:
    return [integer(action) for action in actions]


def _chunked(context: CheckContext, name: str = "Counter") -> Session:
    """Starts a session that takes chunks."""
    session = context.start(name)
    if "chunk" not in session.made.capabilities:
        raise SkippedError("the session does not name chunk among its capabilities")
    return session


@check("DRIVE-6 DRIVE-7 DRIVE-8 DRIVE-11 DRIVE-12", over=ALL)
def a_chunk_is_taken_step_by_step(context: CheckContext) -> None:
    """The actions of a chunk are taken in order, under one number; none but those of the answer were taken."""
    session = _chunked(context)
    steps = session.ask("step", actions=_chunk(1, 0, 1)).of("step").steps
    found = [int64s(one.observation) for one in steps]
    expect_equal(found, [[1, 1], [2, 1], [3, 2]][: len(found)], "the observations")
    expect(found, "a step at least")
    expect_equal(int64s(session.step(0).observation)[0], len(found) + 1, "the number of steps")


@check("DRIVE-10", over=ALL)
def a_chunk_goes_on_in_another_request(context: CheckContext) -> None:
    """The server takes at least one step of a chunk; the rest can be sent in another request."""
    session = _chunked(context, "Big")
    left = [500_000 + count for count in range(8)]
    while left:
        steps = session.ask("step", actions=_chunk(*left)).of("step").steps
        expect(steps, "a step at least")
        sizes = [one.observation.array.shape[0] for one in steps]
        expect_equal(sizes, left[: len(sizes)], "the lengths of the observations")
        left = left[len(sizes) :]


@check("DRIVE-7")
def a_chunk_ends_with_its_episode(context: CheckContext) -> None:
    """No action is taken after the step that ends the episode."""
    session = _chunked(context)
    taken = len(session.ask("step", actions=_chunk(*[0] * 20)).of("step").steps)
    expect(taken <= 10, f"at most 10 steps, not {taken}")


@check("DRIVE-8 DRIVE-9")
def a_chunk_ends_where_a_step_fails(context: CheckContext) -> None:
    """The error of a later action is in `error`; the error of the first action is the answer."""
    session = _chunked(context)
    answer = session.ask("step", actions=_chunk(1, 7, 1)).of("step")
    expect_equal(len(answer.steps), 1, "the number of steps")
    expect(answer.HasField("error"), "the error of the second action")
    session.ask("step", actions=_chunk(7, 1)).refused(Reason.INVALID_ACTION)


@check("DRIVE-6")
def a_chunk_stands_alone(context: CheckContext) -> None:
    """More than 1,024 actions, or both `action` and `actions`, are answered with INVALID_VALUE."""
    session = _chunked(context)
    session.ask("step", actions=_chunk(*[0] * 1025)).refused(Reason.INVALID_VALUE)
    session.ask("step", action=integer(0), actions=_chunk(0)).refused(Reason.INVALID_VALUE)
