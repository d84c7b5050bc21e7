"""When steps were taken."""

from __future__ import annotations

from envwire.conformance.outcomes import SkippedError, expect
from envwire.conformance.suite import CheckContext, check
from envwire.conformance.suite.checks import ALL


@check("DRIVE-28", over=ALL)
def steps_say_when_they_were_taken(context: CheckContext) -> None:
    """A step that asks for its time has one, behind that of the step before; others have none."""
    session = context.start()
    if "times" not in session.made.capabilities:
        raise SkippedError("the session does not name times among its capabilities")
    expect(not session.step(1).HasField("time"), "no time of a step that did not ask")
    ended = 0
    for _ in range(3):
        time = session.step(1, report_time=True).time
        expect(ended < time.begun_nanoseconds, "a step that begins after the one before has ended")
        ended = time.ended_nanoseconds
        expect(time.begun_nanoseconds <= ended, "a step that ends after it has begun")
