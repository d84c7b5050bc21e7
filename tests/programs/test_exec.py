"""`envwire serve --exec`: environments in programs that speak the protocol, with a process for each session.

The program is one of ours in Python, so that the same environment in this process is the oracle.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.client import (
    RemoteEnv,
    RemoteError,
    RemoteVectorEnv,
    SessionLostError,
    StepTimeoutError,
)
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.envs import make, make_vec
from envwire.server import Server
from envwire.server._recording.files import RecordedSession, path_of
from envwire.server.config import ServerConfig
from envwire.testing.comparing import identical, rollout
from tests.tiers import first

SIMULATOR = Path(__file__).with_name("simulator.py")
IDS = ["CartPole-v1", "FrozenLake-v1", "Faulty-v0", "Wrong-v0", "Unheard-v0"]
CONFORMANCE = [
    f"Conformance/{name}-v0"
    for name in ["Echo", "Counter", "Raise", "Slow", "Crash", "Big", "EverySpace", "Odd"]
]


#: An argument of the program, by which its processes are found beside those of other runs.
MARK = f"of-{os.getpid()}"


def program() -> str:
    return f"{sys.executable} {SIMULATOR} {MARK}"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server(
        IDS, program=program(), step_timeout=3.0, count_episodes=True, max_message_bytes=2**24
    ) as server:
        yield server.target


@pytest.mark.parametrize("transport", first(["direct", "stream", "unary"], 2))
def test_a_program_is_an_environment_like_others(target: str, transport: str) -> None:
    with (
        RemoteEnv(target, "CartPole-v1", render_mode="rgb_array", transport=transport) as remote,
        make("CartPole-v1", render_mode="rgb_array") as local,
    ):
        assert identical(rollout(remote, 60, seed=1), rollout(local, 60, seed=1))
        assert identical(remote.render(), local.render())
        assert remote.np_random.random() == local.np_random.random()
        assert remote.get_wrapper_attr("gravity") == local.get_wrapper_attr("gravity")
        assert remote.observation_space == local.observation_space


def test_a_vector_is_the_programs_own(target: str) -> None:
    local = make_vec("FrozenLake-v1", num_envs=3)
    with closing(RemoteVectorEnv(target, "FrozenLake-v1", num_envs=3, sessions=1)) as remote:
        assert identical(remote.reset(seed=3), local.reset(seed=3))
        for step in range(40):
            actions = np.full(3, step % 4)
            assert identical(remote.step(actions), local.step(actions))


def test_a_lost_program_is_replayed(target: str) -> None:
    before = running()
    with (
        RemoteEnv(target, "CartPole-v1", on_lost="replay") as remote,
        make("CartPole-v1") as local,
    ):
        assert identical(remote.reset(seed=5), local.reset(seed=5))
        for step in range(8):
            if step == 4:
                (pid,) = set(running()) - set(before)
                os.kill(pid, signal.SIGKILL)
            assert identical(remote.step(step % 2), local.step(step % 2))


ENDS = {
    7: (SessionLostError, "killed by SIGSEGV", "about to write to address 0"),
    8: (StepTimeoutError, "did not answer within 3 s", ""),
    9: (StepTimeoutError, "did not answer within 3 s", "xxxx"),
    10: (SessionLostError, "exited with status 3", "nothing left to simulate"),
    11: (SessionLostError, "killed by signal 40", "closed its channel (signal 40)"),
}


@pytest.fixture(scope="module")
def other(target: str) -> Iterator[tuple[Any, Any]]:
    """An environment that nothing happens to, and the same here."""
    with RemoteEnv(target, "CartPole-v1") as remote, make("CartPole-v1") as local:
        yield remote, local


@pytest.mark.parametrize("action", ENDS)
def test_a_program_that_fails_touches_no_other(
    target: str, other: tuple[Any, Any], action: int
) -> None:
    remote, local = other
    assert identical(remote.reset(seed=1), local.reset(seed=1))
    kind, how, said = ENDS[action]
    failing = RemoteEnv(target, "Faulty-v0")
    failing.reset(seed=1)
    with pytest.raises(kind, match=how) as caught:
        failing.step(action)
    assert said in str(caught.value)
    assert identical(remote.step(1), local.step(1))


#: A server that others can reach has lists.
PUBLIC: dict[str, Any] = {"public": True, "insecure": True, "allow_attributes": ["gravity"]}
WRONG = {
    "nonsense": "sent a",
    "attachments": "attachments",
    "length": "closed its channel",
    "half": "within a frame",
    "exit": "no licence for this simulator",
}


@pytest.mark.parametrize("how", WRONG)
def test_a_program_that_does_not_make_is_an_error(target: str, how: str) -> None:
    with pytest.raises(RemoteError, match=WRONG[how]):
        RemoteEnv(target, "Wrong-v0", how=how)


def test_a_program_that_is_silent_is_an_error() -> None:
    with (
        Server(["Wrong-v0"], program=program(), make_timeout=1.0) as server,
        pytest.raises(RemoteError, match="--make-timeout"),
    ):
        RemoteEnv(server.target, "Wrong-v0", how="silence")


def test_an_id_that_the_program_lacks_is_unknown(target: str) -> None:
    with pytest.raises(Exception, match="Unheard"):
        RemoteEnv(target, "Unheard-v0")


def test_a_recording_has_what_the_program_answered(recordings: Path) -> None:
    with Server(IDS, program=program(), record=recordings) as server:
        remote = RemoteEnv(server.target, "CartPole-v1")
        rollout(remote, 20, seed=2)
        name = remote.recorded_as
        remote.close()
        recorded = RecordedSession(path_of(recordings, name))
        assert [each.kind for each in recorded.exchanges()].count("step") == 20


def test_attributes_follow_the_servers_lists() -> None:
    with Server(["CartPole-v1"], program=program(), **PUBLIC) as server:
        env = RemoteEnv(server.target, "CartPole-v1")
        assert env.get_wrapper_attr("gravity") == 9.8
        with pytest.raises(Exception, match="not listed"):
            env.get_wrapper_attr("length")
        assert not env.has_wrapper_attr("length")


def test_no_memory_is_shared_for_attachments_that_no_program_sends() -> None:
    check = Selection(("direct", "mailbox"), ("mailbox.it-comes-behind*",))
    with Server(["Conformance/Big-v0"], program=program(), max_message_bytes=2**24) as server:
        (result,) = Runner(Access(server.target), check, seconds=20.0).results()
    assert result.text == "the server shares no memory for large frames"


def test_no_program_is_left(target: str) -> None:
    before = running()
    env = RemoteEnv(target, "CartPole-v1")
    assert len(running()) == len(before) + 1
    env.close()
    assert running() == before


#: Of the suite: each check starts a new interpreter. Programs of the kits are checked with all of it.
FEW = ("steps.a-step-is-taken-once*", "sequence.*")


@pytest.mark.slow
def test_the_conformance_suite_passes_through_the_front() -> None:
    profiles = ("core", "stream", "direct")
    settings: dict[str, Any] = {"step_timeout": 6.0, "max_message_bytes": 2**24}
    with Server(CONFORMANCE, program=program(), **settings) as server:
        runner = Runner(Access(server.target), Selection(profiles, FEW), seconds=20.0)
        results = list(runner.results())
    assert len(results) > 5
    failed = [each for each in results if each.outcome is Outcome.FAILED]
    assert [f"{each.check.name}: {each.text}" for each in failed] == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"environments": ["CartPole-*"]}, "whole ids"),
    ({"sessions_per_process": 2}, "one session"),
    ({"imports": ["lab"]}, "--import"),
    ({"program": "./no-such-simulator"}, "can be run"),
    ({"program": "simulator 'open"}, "can be run"),
]


@pytest.mark.parametrize(("settings", "why"), REFUSED)
def test_settings_that_do_not_go_with_a_program(settings: dict[str, Any], why: str) -> None:
    defaults: dict[str, Any] = {"environments": ["CartPole-v1"], "program": program()}
    with pytest.raises(ValueError, match=why):
        ServerConfig(**(defaults | settings))


def running() -> Sequence[int]:
    """Returns the running programs of this module."""
    found: list[int] = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if MARK.encode() in words:
            found.append(int(entry))
    return found
