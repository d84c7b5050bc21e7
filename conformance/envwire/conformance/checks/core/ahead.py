"""Steps sent ahead."""

from __future__ import annotations

from collections.abc import Sequence

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import DirectLink, Session, StreamLink
from envwire.conformance.raw.direct_link import frame
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import environment_pb2 as pb


def _started(context: CheckContext) -> Session:
    """Starts a session that takes steps ahead of its answers."""
    session = context.start()
    if "ahead" not in session.made.capabilities:
        raise SkippedError("the session does not name ahead among its capabilities")
    return session


def _steps(session: Session, actions: Sequence[int]) -> list[pb.InteractRequest]:
    """Returns the requests of steps that are all sent at once."""
    first = session.number + 1
    session.number += len(actions)
    return [
        session.request("step", first + place, action=integer(action), ahead=place)
        for place, action in enumerate(actions)
    ]


def _sent_at_once(
    session: Session, requests: Sequence[pb.InteractRequest]
) -> list[pb.StepResponse]:
    """Sends all requests before it reads the first answer, if the link keeps their order."""
    link = session.link
    if isinstance(link, DirectLink):
        link.send_bytes(b"".join(map(frame, requests)))
        return [link.receive().of("step") for _ in requests]
    if isinstance(link, StreamLink):
        for request in requests:
            shown = pb.InteractRequest.FromString(request.SerializeToString())
            shown.step.header.CopyFrom(session.header)
            link.send(shown.SerializeToString())
        return [link.receive().of("step") for _ in requests]
    return [session.send(request).of("step") for request in requests]


@check("AHEAD-1 AHEAD-2", over=ALL)
def steps_sent_ahead_are_taken_in_order(context: CheckContext) -> None:
    """Four steps that are sent at once are taken in order, and answered in order."""
    session = _started(context)
    answers = _sent_at_once(session, _steps(session, [1, 0, 1, 1]))
    found = [int64s(answer.observation) for answer in answers]
    expect_equal(found, [[1, 1], [2, 1], [3, 2], [4, 3]], "the observations")
    expect_equal(int64s(session.step(1).observation), [5, 4], "the observation of the next step")


@check("AHEAD-3 AHEAD-6", over=ALL)
def answers_are_kept_for_steps_sent_ahead(context: CheckContext) -> None:
    """All of four unanswered requests can be repeated; none is served twice, or for another request."""
    session = _started(context)
    requests = _steps(session, [1, 0, 1, 1])
    answers = _sent_at_once(session, requests)
    again = [session.send(request).of("step") for request in requests]
    expect_equal(again, answers, "the repeated answers")
    session.peek("step", session.number - 2, action=integer(0)).refused(Reason.SEQUENCE_REUSED)
    expect_equal(int64s(session.step(1).observation), [5, 4], "the observation of the next step")


@check("AHEAD-4 AHEAD-5", over=ALL)
def nothing_is_taken_behind_the_end_of_an_episode(context: CheckContext) -> None:
    """The tenth step ends the episode, and those sent behind it are not taken. One that is not sent ahead is."""
    session = _started(context)
    answers = _sent_at_once(session, _steps(session, [0] * 13))
    expect_equal([answer.terminated for answer in answers[:10]], [False] * 9 + [True], "terminated")
    expect_equal([answer.not_taken for answer in answers], [False] * 10 + [True] * 3, "not_taken")
    expect_equal(int64s(session.step(1).observation), [11, 1], "steps and sum")


@check("AHEAD-4 AHEAD-5", over=ALL)
def nothing_is_taken_behind_another_request_or_an_error(context: CheckContext) -> None:
    """A step sent behind a reset, or behind a step that fails, is not taken."""
    session = _started(context)
    expect(session.step(1, ahead=1).not_taken, "not_taken, behind a reset")
    session.ask("step", action=integer(7)).refused(Reason.INVALID_ACTION)
    expect(session.step(1, ahead=1).not_taken, "not_taken, behind an error")
    expect(session.step(1, ahead=2).not_taken, "not_taken, behind one that was not taken")
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")
