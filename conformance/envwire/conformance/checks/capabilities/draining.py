"""Stopping the server. These checks run last, because no other can run after them."""

from __future__ import annotations

import shlex
import subprocess

from envwire.codec import Reason
from envwire.conformance.outcomes import expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, check
from envwire.conformance.suite.checks import LINKS
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

_DRAINING = status_pb2.Notice.KIND_DRAINING


def _sessions(context: CheckContext) -> dict[str, Session]:
    """Makes a session over each link that the server offers."""
    has = {"unary": True} | {
        link: name in context.info.capabilities
        for link, name in (("stream", "interact"), ("direct", "direct"))
    }
    made = {link: context.make().made for link in LINKS if has[link]}
    return {link: context.attach(one, context.link_to(one, link)) for link, one in made.items()}


def _kinds(answer: pb.InteractResponse) -> list[int]:
    return [notice.kind for notice in answer.notices]


@check("LIMIT-7 LIMIT-8 NOTICE-2 NOTICE-4", profile="drain")
def a_server_that_stops_says_so(context: CheckContext) -> None:
    """A stopping server refuses new sessions, serves existing ones, and adds a notice to each answer, kept or not."""
    sessions = _sessions(context)
    steps, answers = dict[str, pb.InteractRequest](), dict[str, pb.InteractResponse]()
    for link, session in sessions.items():
        session.reset(1)
        steps[link] = session.request("step", action=integer(1))
        answers[link] = session.send(steps[link]).response
        expect_equal(_kinds(answers[link]), [], f"notices over {link}, before")
    subprocess.run(shlex.split(context.access.stop), check=True, timeout=context.seconds)  # noqa: S603 - the user's own
    context.eventually(lambda: bool(context.ask_make().response.error.code), "no new session")
    context.ask_make().refused(Reason.DRAINING)
    for link, session in sessions.items():
        again = session.send(steps[link]).response
        expect_equal(_kinds(again), [_DRAINING], f"notices over {link}")
        again.ClearField("notices")
        expect_equal(again, answers[link], f"the kept answer over {link}")
        session.number += 1
        expect_equal(int64s(session.step(1).observation), [2, 2], f"steps and sum over {link}")
