"""The page's summary of one session."""

from __future__ import annotations

import json
import math

import pytest

from envwire.dashboard.model import Fleet
from envwire.dashboard.summaries import description, farm_summary, last_error
from envwire.observe.v1 import observe_pb2 as pb

TRACEBACK = """Traceback (most recent call last):
  File "env.py", line 3, in step
    raise ValueError("wet")
ValueError: wet
"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", ""),
        ("words: no error\n", ""),
        (TRACEBACK, "ValueError: wet"),
        (
            TRACEBACK + "more words\n" + TRACEBACK.replace("wet", "dry") + "words\n",
            "ValueError: dry",
        ),
        ("the environment raised:\n" + TRACEBACK, "ValueError: wet"),
        ("Traceback (most recent call last):\n  File", ""),
    ],
)
def test_the_last_error_of_an_output(output: str, found: str) -> None:
    assert last_error(output) == found


def test_episodes_are_told_of_living_and_of_ended_sessions() -> None:
    counters = pb.SessionStatus(
        episodes=4, episode_returns=-6.0, episode_steps=20, epoch=2, loss="DRAINING", replayed=7
    )
    episodes = [pb.Episode(ended=3.0, total=-1.5, length=5)]
    for told in (
        pb.DescribeSessionResponse(session=counters, episodes=episodes),
        pb.DescribeSessionResponse(last=counters, episodes=episodes),
    ):
        found = description(told)
        assert found["counters"] == {
            "episodes": 4,
            "mean_return": -1.5,
            "mean_length": 5.0,
            "repeated": 0,
            "replayed": 7,
            "epoch": 2,
            "loss": "DRAINING",
        }
        assert found["episodes"] == [{"at": 3.0, "total": -1.5, "length": 5}]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_write_is_left_out(value: float) -> None:
    told = pb.DescribeSessionResponse(
        session=pb.SessionStatus(episodes=1, episode_returns=value),
        episodes=[pb.Episode(total=value, length=1)],
    )
    found = description(told)
    json.dumps(found, allow_nan=False)
    assert found["episodes"] == []
    assert found["counters"]["mean_return"] is None


def test_a_session_without_episodes_has_no_means() -> None:
    found = description(pb.DescribeSessionResponse(session=pb.SessionStatus(steps=3)))
    assert (found["counters"]["mean_return"], found["counters"]["mean_length"]) == (None, None)


def test_totals_by_client_reach_over_servers_and_count_a_shared_process_once() -> None:
    fleet = Fleet()
    for address, clients, processes in (("a:1", "xy", (1, 2)), ("b:1", "yyz", (3, 3, 4))):
        for now, steps, processor in ((1.0, 0, 5.0), (3.0, 20, 6.0)):
            sessions = [
                pb.SessionStatus(
                    session_id=str(number),
                    client=f"token {client}",
                    process_id=processes[number],
                    steps=steps,
                    processor_time=processor,
                    memory=100,
                )
                for number, client in enumerate(clients)
            ]
            status = pb.ServerStatus(incarnation="x", now=now)
            fleet.server(address).take(pb.WatchResponse(server=status, sessions=sessions))
    told = farm_summary(fleet, 0)
    assert told["clients"] == [
        {"client": "token y", "sessions": 3, "rate": 30.0, "processor": 1.0, "memory": 200},
        {"client": "token x", "sessions": 1, "rate": 10.0, "processor": 0.5, "memory": 100},
        {"client": "token z", "sessions": 1, "rate": 10.0, "processor": 0.5, "memory": 100},
    ]
    assert (told["rate"], told["processor"], told["memory"]) == (50.0, 2.0, 400)
