"""`envwire check`, `info`, `doctor` and the completion of ids, as a person uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.server import Server
from tests.commands import as_process, envwire

_UNEVEN = """
import os
import envwire.envs as gym

class Uneven(gym.Env):
    metadata = {"render_modes": []}
    observation_space = gym.spaces.Discrete(2**31)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return os.getpid(), {}

    def step(self, action):
        return os.getpid(), 0.0, False, False, {}

gym.register(id="lab/Uneven-v0", entry_point="uneven:Uneven", disable_env_checker=True)
"""


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server(["CartPole-v1", "FrozenLake-v1"]) as server:
        yield server.target


def test_a_sound_environment_passes_every_check(target: str) -> None:
    done = envwire("check", "CartPole-v1", "--target", target)
    assert done.returncode == 0, done.stdout
    rows = [line for line in done.stdout.splitlines() if " ok " in line]
    assert len(rows) == 7
    assert "equal to the bit" in done.stdout


def test_what_depends_on_more_than_its_seed_fails(tmp_path: Path) -> None:
    file = tmp_path / "uneven.py"
    file.write_text(_UNEVEN)
    done = as_process("check", "lab/Uneven-v0", "--import", str(file), PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "seed and its actions alone" in done.stdout
    assert "skipped: no render mode" in done.stdout


@pytest.mark.slow
def test_what_only_the_server_knows_is_compared_with_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "uneven.py"
    file.write_text(_UNEVEN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Server(["lab/Uneven-v0"], imports=[str(file)]) as server:
        monkeypatch.delenv("PYTHONPATH")
        done = as_process("check", "lab/Uneven-v0", "--target", server.target)
    assert done.returncode == 1
    assert "in another session" in " ".join(done.stdout.split())
    assert "only the server" not in done.stdout


def test_an_unknown_id_says_what_to_name() -> None:
    done = envwire("check", "No-v0")
    assert done.returncode == 1
    assert "--import" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["here", "there"])
def test_info_is_the_same_here_and_there(where: str, target: str) -> None:
    options = ["--target", target] if where == "there" else []
    facts = json.loads(envwire("info", "FrozenLake-v1", "--json", *options).stdout)
    assert facts["observation space"] == "Discrete(16)"
    assert facts["steps of an episode"] == 100


def tells_where_arrays_pass(shown: str) -> bool:
    """Returns whether a doctor says that arrays stay on a GPU, or why they do not."""
    [row] = [line for line in shown.splitlines() if line.startswith("arrays of GPUs")]
    _, through, why = row.partition("pass through the host, also with device=:")
    return bool(why.strip()) if through else "stay on the GPU" in row


def test_a_doctor_finds_a_healthy_server_well(target: str) -> None:
    done = envwire("doctor", target)
    assert done.returncode == 0
    assert done.stdout.count(" ok ") == 8
    assert "Unix socket" in done.stdout
    assert tells_where_arrays_pass(done.stdout)
    assert "--" not in done.stdout.replace("--env-id", "")


def test_a_doctor_tells_why_there_is_no_direct_channel() -> None:
    with Server(["CartPole-v1"], direct_port=-1) as server:
        done = envwire("doctor", server.target)
    assert done.returncode == 0
    assert "note" in done.stdout
    assert "--direct-port" in done.stdout
    assert tells_where_arrays_pass(done.stdout)


def test_a_doctor_finds_that_an_id_is_not_served(target: str) -> None:
    done = envwire("doctor", target, "--env-id", "CartPool-v1")
    assert done.returncode == 1
    assert "'CartPool-v1' is none of them" in done.stdout
    assert "is used here" not in done.stdout


def test_a_doctor_ends_with_what_is_wrong() -> None:
    done = envwire("doctor", "127.0.0.1:1")
    assert done.returncode == 1
    [line] = done.stdout.splitlines()
    assert "nothing listens" in line


@pytest.mark.parametrize(
    "command", ["list", "health", "sessions", "drain", "top", "farm status", "doctor"]
)
def test_a_target_without_a_port_is_refused_before_it_is_dialled(command: str) -> None:
    done = envwire(*command.split(), "localhost")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "names no port; write HOST:PORT, 'localhost:50051'" in line


def test_a_server_is_told_from_a_gateway(target: str) -> None:
    done = envwire("farm", "status", target)
    assert done.returncode == 1
    assert "a server where a gateway is needed" in done.stderr


def test_a_file_that_a_server_cannot_open_is_named() -> None:
    done = as_process("serve", "CartPole-v1", "--port", "0", "--tokens", "/no/such/file")
    assert done.returncode == 1
    says = (
        "cannot open /no/such/file: No such file or directory; correct the path or its permissions"
    )
    assert done.stderr == f"envwire serve: {says}\n"


def complete(words: str) -> list[str]:
    asked = {"_ENVWIRE_COMPLETE": "complete_bash", "COMP_WORDS": words}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("envwire"))],  # shells ask the program that is typed
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, **asked, "COMP_CWORD": str(words.count(" "))},
    )
    return done.stdout.split()


def test_shells_complete_ids(target: str) -> None:
    assert complete(f"envwire run {target} Fro") == ["FrozenLake-v1"]
    assert complete("envwire run 127.0.0.1:1 Fro") == []
    assert "CartPole-v1" in complete("envwire check CartPole-v")


def test_the_help_of_a_command_has_an_example() -> None:
    assert "Example: envwire farm up " in envwire("farm", "up", "--help").stdout
