"""When observations were made, as far as a client can tell."""

from __future__ import annotations

import pytest

from envwire.client._env.step_line import ServerClock
from envwire.v1 import environment_pb2 as pb

#: The server's clock minus the client's, and seconds of each way.
AHEAD, WAY = 500.0, 0.025


def taken(begun: float, ended: float) -> pb.StepTime:
    """Returns the time of a step on the server's clock, given that on the client's."""
    begun, ended = round((begun + AHEAD) * 1e9), round((ended + AHEAD) * 1e9)
    return pb.StepTime(begun_nanoseconds=begun, ended_nanoseconds=ended)


def test_steps_that_wait_for_others_are_as_old_as_they_are() -> None:
    """Eight steps of 20 ms are sent at once, and their answers take as long as their requests."""
    clock = ServerClock()
    for step in range(8):
        begun = 100.0 + WAY + step * 0.02
        made = clock.made(100.0, begun + 0.02 + WAY, taken(begun, begun + 0.02))
        assert made == pytest.approx(begun + 0.02, abs=1e-6)


def test_an_answer_that_waited_on_its_way_is_older() -> None:
    clock = ServerClock()
    clock.made(100.0, 100.05, taken(100.025, 100.025))
    assert clock.made(101.0, 101.3, taken(101.025, 101.025)) == pytest.approx(101.025, abs=1e-6)


def test_a_server_that_does_not_tell_is_believed_to_answer_at_once() -> None:
    assert ServerClock().made(100.0, 100.05, None) == 100.05


def test_no_observation_is_made_after_it_came() -> None:
    clock = ServerClock()
    clock.made(100.0, 100.2, taken(100.1, 100.1))
    assert clock.made(101.0, 101.01, taken(101.005, 101.5)) <= 101.01
