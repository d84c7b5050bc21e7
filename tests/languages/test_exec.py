"""Programs of the kits behind `envwire serve --exec`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.client import RemoteEnv, RemoteVectorEnv, SessionLostError, StepTimeoutError
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.context import CheckContext
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.envs import make, make_vec
from envwire.server import Server
from envwire.server._recording.files import path_of
from envwire.testing.comparing import identical, rollout
from envwire.v1.environment_pb2 import GetServerInfoResponse
from envwire.v1.values_pb2 import Value
from tests import commands
from tests.faults.scene import eventually
from tests.languages.programs import LANGUAGES, kit, program
from tests.programs import clients

IDS = [
    f"Conformance/{name}-v0" for name in ("Echo", "Counter", "Raise", "Slow", "Big", "EverySpace")
]
PROFILES = ("core", "stream", "direct", "states", "replay")
#: Node.js cannot map the memory of mailboxes.
FURTHER = {"cpp": ("mailbox",), "typescript": ()}
STEP_TIMEOUT = 6.0
#: An argument that the programs ignore, by which they are found beside those of other runs.
MARK = f"of-{os.getpid()}"
FEW = (
    "steps.a-step-is-taken-once*",
    "saved_states.*",
    "sequence.*",
    "opening.a-bad*",
    "mailbox_wakes.half-a-wake*",
)


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def target(language: str) -> Iterator[str]:
    command = shlex.join([*program(language, "serve"), MARK])
    settings: dict[str, Any] = {"step_timeout": STEP_TIMEOUT, "max_message_bytes": 2**24}
    with Server(IDS, program=command, **settings) as server:
        yield server.target


@pytest.mark.parametrize(
    "run", [pytest.param(FEW, id="few"), pytest.param((), id="all", marks=pytest.mark.long)]
)
@pytest.mark.timeout(900)
def test_the_conformance_suite_passes_through_the_front(
    language: str, target: str, run: tuple[str, ...]
) -> None:
    selection = Selection((*PROFILES, *FURTHER[language]), run)
    results = list(Runner(Access(target), selection, seconds=20.0).results())
    assert len(results) > 10
    failed = [each for each in results if each.outcome is Outcome.FAILED]
    assert [f"{each.check.name}: {each.text}" for each in failed] == []


def test_a_client_that_reads_late_keeps_its_session(target: str) -> None:
    with CheckContext(
        Access(target), GetServerInfoResponse(), link="direct", seconds=20.0
    ) as context:
        before = programs()
        session = context.start("Big")
        (pid,) = programs() - before
        session.direct.send(session.request("step", action=Value(int_value=2_000_000)))
        assert not eventually(lambda: pid not in programs(), STEP_TIMEOUT + 2.0)
        answered = session.direct.receive().of("step")
    assert answered.observation.array.shape == [2_000_000]


def test_a_client_that_reads_late_is_served_elsewhere_meanwhile(target: str) -> None:
    clients.read_late_and_ask_elsewhere(target)


def test_a_client_that_pauses_in_a_request_is_served_elsewhere_meanwhile(target: str) -> None:
    clients.pause_in_a_frame(target)


def test_the_servers_limit_of_a_step_holds_and_not_the_kits(target: str) -> None:
    with RemoteEnv(target, "Conformance/Slow-v0") as env:  # one driver gives its kit 3 s
        env.reset()
        env.step(4.0)


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


@pytest.fixture(scope="module", params=[False, True], ids=["lent", "counted"])
def poles(language: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A server of cart-poles whose programs serve connections themselves, and one that sees each answer."""
    command = shlex.join([*program(language, "cartpole"), MARK])
    settings: dict[str, Any] = {"step_timeout": 3.0, "count_episodes": request.param}
    with Server(["CartPole-v1", "Faulty-v0"], program=command, **settings) as server:
        yield server.target


@pytest.mark.parametrize("transport", ["direct", "stream"])
def test_its_cart_pole_is_pythons(poles: str, transport: str) -> None:
    with (
        RemoteEnv(poles, "CartPole-v1", transport=transport) as remote,
        make("CartPole-v1") as local,
    ):
        assert remote.observation_space == local.observation_space
        assert remote.action_space == local.action_space
        for seed in range(3):
            assert identical(rollout(remote, 100, seed=seed), rollout(local, 100, seed=seed))


@pytest.mark.parametrize("sessions", [1, 2])
def test_a_vector_of_its_cart_poles_is_pythons(poles: str, sessions: int) -> None:
    local = make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    with closing(RemoteVectorEnv(poles, "CartPole-v1", num_envs=4, sessions=sessions)) as remote:
        assert identical(remote.reset(seed=3), local.reset(seed=3))
        local.action_space.seed(3)
        for _ in range(100):
            actions = local.action_space.sample()
            assert identical(remote.step(actions), local.step(actions))


#: How a program goes wrong, by the action: its client's error, and the end of its output.
ENDS = {
    7: (SessionLostError, "killed by SIGSEGV", "about to write to address 0"),
    8: (StepTimeoutError, "did not answer within 3 s", ""),
    9: (StepTimeoutError, "did not answer within 3 s", "xxxx"),
    10: (SessionLostError, "exited with status 3", "nothing left to simulate"),
}


@pytest.mark.parametrize("action", ENDS)
def test_a_program_that_fails_touches_no_other(poles: str, action: int) -> None:
    kind, how, said = ENDS[action]
    with RemoteEnv(poles, "CartPole-v1") as other, make("CartPole-v1") as local:
        assert identical(other.reset(seed=1), local.reset(seed=1))
        before = programs()
        failing = RemoteEnv(poles, "Faulty-v0")
        (pid,) = programs() - before
        failing.reset(seed=1)
        with pytest.raises(kind, match=how) as caught:
            failing.step(action)
        assert said in str(caught.value)
        assert identical(other.step(1), local.step(1))
        assert eventually(lambda: pid not in programs())


def test_a_lost_program_is_replayed(poles: str) -> None:
    with make("CartPole-v1") as local:
        before = programs()
        with RemoteEnv(poles, "CartPole-v1", on_lost="replay") as remote:
            assert identical(remote.reset(seed=5), local.reset(seed=5))
            for step in range(8):
                if step in {3, 5}:
                    (pid,) = programs() - before
                    os.kill(pid, signal.SIGKILL)
                assert identical(remote.step(step % 2), local.step(step % 2))


def test_its_lease_ends_with_its_client(poles: str) -> None:
    script = (
        "import sys\nfrom envwire.client import RemoteEnv\n"
        f"env = RemoteEnv({poles!r}, 'CartPole-v1', lease=1.0)\n"
        "env.reset(seed=1)\nprint('ready', flush=True)\nsys.stdin.read()\n"
    )
    before = programs()
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"ready\n"
        (pid,) = programs() - before
        assert not eventually(lambda: pid not in programs(), seconds=2.5), "idle for two leases"
        client.kill()
    assert eventually(lambda: pid not in programs())


def test_pythons_cart_pole_repeats_a_recording_of_it(language: str, tmp_path: Path) -> None:
    command = shlex.join([*program(language, "cartpole"), MARK])
    with Server(["CartPole-v1"], program=command, record=tmp_path) as server:
        with RemoteEnv(server.target, "CartPole-v1") as remote:
            rollout(remote, 60, seed=2)
            path = path_of(tmp_path, remote.recorded_as)
        for where in [(), ("--target", server.target)]:
            told = commands.envwire("replay", path, *where)
            assert told.returncode == 0, told.stdout + told.stderr


def programs() -> set[int]:
    """Returns the running programs of this module."""
    found: set[int] = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if MARK.encode() in words:
                found.add(int(entry))
    return found
