"""SaveState and RestoreState."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import expect_equal
from envwire.conformance.raw.values import int64s
from envwire.conformance.suite import CheckContext, cases, check
from envwire.conformance.suite.checks import ALL


@check("SAVE-1 SAVE-2", over=ALL, profile="states")
def a_state_is_restored_as_often_as_one_likes(context: CheckContext) -> None:
    """States are numbered from 1; each can be restored repeatedly."""
    session = context.start()
    session.step(1)
    first = session.ask("save_state").of("save_state").state
    session.step(1)
    second = session.ask("save_state").of("save_state").state
    expect_equal((first, second), (1, 2), "the numbers of the states")
    for _ in range(2):
        session.ask("restore_state", state=first).of("restore_state")
        expect_equal(int64s(session.step(0).observation), [2, 1], "steps and sum")
    session.ask("restore_state", state=second).of("restore_state")
    expect_equal(int64s(session.step(0).observation), [3, 2], "steps and sum")


@check("SAVE-2 STATE-3", profile="states")
def an_ended_episode_goes_on_from_a_state(context: CheckContext) -> None:
    """Restoring a state counts as a reset: an ended episode goes on."""
    session = context.start()
    for _ in range(9):
        session.step(0)
    state = session.ask("save_state").of("save_state").state
    session.step(0)
    session.ask("restore_state", state=state).of("restore_state")
    expect_equal(session.step(0).terminated, True, "terminated of the tenth step")


@check("SAVE-3", profile="states")
def what_offers_no_state_says_so(context: CheckContext) -> None:
    """For Echo, which cannot save its state, both requests fail with UNSUPPORTED."""
    session = context.start("Echo")
    session.ask("save_state").refused(Reason.UNSUPPORTED)
    session.ask("restore_state", state=1).refused(Reason.UNSUPPORTED, Reason.INVALID_VALUE)
    session.step(0)


@cases({"zero": 0, "later": 17}, "SAVE-4", profile="states")
def an_unknown_state_is_refused(context: CheckContext, state: int) -> None:
    """Restoring an unknown state fails with INVALID_VALUE."""
    session = context.start()
    session.ask("restore_state", state=state).refused(Reason.INVALID_VALUE)
    session.step(1)


@check("SAVE-4 SESSION-1", profile="states")
def a_state_belongs_to_its_session(context: CheckContext) -> None:
    """A saved state cannot be restored in another session."""
    session, other = context.start(), context.start()
    session.ask("save_state").of("save_state")
    other.ask("restore_state", state=1).refused(Reason.INVALID_VALUE)


@check("SEQUENCE-4", profile="states")
def a_repeated_save_is_done_once(context: CheckContext) -> None:
    """A repeated SaveState answers the same number, and the next SaveState the following one."""
    session = context.start()
    save = session.request("save_state")
    numbers = [session.send(save).of("save_state").state for _ in range(2)]
    session.number += 1
    numbers.append(session.ask("save_state").of("save_state").state)
    expect_equal(numbers, [1, 1, 2], "the numbers of the states")
