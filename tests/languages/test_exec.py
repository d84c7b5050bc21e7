"""Programs of the kits behind `envwire serve --exec`."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.client import RemoteEnv, RemoteVectorEnv, SessionLostError
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.server import Server
from envwire.testing.comparing import identical, rollout
from tests.languages.programs import LANGUAGES, kit, program

IDS = [
    f"Conformance/{name}-v0" for name in ("Echo", "Counter", "Raise", "Slow", "Big", "EverySpace")
]
PROFILES = ("core", "stream", "direct", "states", "replay")
#: An argument that the programs ignore, by which they are found beside those of other runs.
MARK = f"of-{os.getpid()}"
FEW = ("steps.a-step-is-taken-once*", "saved_states.*", "sequence.*", "opening.a-bad*")


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def target(language: str) -> Iterator[str]:
    command = shlex.join([*program(language, "serve"), MARK])
    with Server(IDS, program=command, step_timeout=6.0, max_message_bytes=2**24) as server:
        yield server.target


@pytest.mark.parametrize(
    "run", [pytest.param(FEW, id="few"), pytest.param((), id="all", marks=pytest.mark.long)]
)
@pytest.mark.timeout(900)
def test_the_conformance_suite_passes_through_the_front(target: str, run: tuple[str, ...]) -> None:
    selection = Selection(PROFILES, run)
    results = list(Runner(Access(target), selection, seconds=20.0).results())
    assert len(results) > 10
    failed = [each for each in results if each.outcome is Outcome.FAILED]
    assert [f"{each.check.name}: {each.text}" for each in failed] == []


def test_it_plays_as_the_kit_itself_does(language: str, target: str) -> None:
    with (
        kit(language) as own,
        RemoteEnv(own.target, "Conformance/Counter-v0") as alone,
        RemoteEnv(target, "Conformance/Counter-v0") as behind,
    ):
        assert identical(rollout(behind, 30, seed=4), rollout(alone, 30, seed=4))


def test_a_vector_plays_as_the_kits_own(language: str, target: str) -> None:
    with (
        kit(language) as own,
        closing(RemoteVectorEnv(own.target, "Conformance/Counter-v0", num_envs=4)) as alone,
        closing(RemoteVectorEnv(target, "Conformance/Counter-v0", num_envs=4)) as behind,
    ):
        assert identical(behind.reset(seed=4), alone.reset(seed=4))
        for _ in range(25):  # beyond the ends of two episodes
            actions = np.arange(4) % 2
            assert identical(behind.step(actions), alone.step(actions))


def test_a_killed_program_ends_its_session_alone(target: str) -> None:
    with RemoteEnv(target, "Conformance/Counter-v0") as other:
        before = programs()
        killed = RemoteEnv(target, "Conformance/Counter-v0")
        (pid,) = programs() - before
        other.reset(seed=1)
        os.kill(pid, signal.SIGSEGV)
        with pytest.raises(SessionLostError, match="SIGSEGV"):
            killed.reset(seed=1)
        other.step(1)


def programs() -> set[int]:
    """Returns the running programs of this module."""
    found: set[int] = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if MARK.encode() in words:
                found.add(int(entry))
    return found
