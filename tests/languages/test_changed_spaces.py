"""Clients in other languages follow spaces that an environment changes when it is reset."""

from __future__ import annotations

import subprocess
from typing import Any

import gymnasium
import pytest

from envwire.server import Server
from tests.compliance.changing_envs import CHANGING
from tests.conftest import ROOT
from tests.languages.programs import program

#: The option of each reset; 0 for none.
COUNTS = (0, 5, 0, 9, 2)


def local() -> list[int]:
    env: Any = gymnasium.make(CHANGING).unwrapped
    found: list[int] = []
    for count in COUNTS:
        env.reset(seed=1, options={"n": count} if count else None)
        found.append(int(env.action_space.n))
    return found


@pytest.mark.parametrize("language", ["typescript", "cpp"])
def test_a_client_has_the_spaces_of_the_local_environment(language: str) -> None:
    command = program(language, "changing")
    with Server([CHANGING], imports=["tests.compliance.changing_envs"], sys_path=(ROOT,)) as server:
        arguments = [server.target, CHANGING, *map(str, COUNTS)]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=200, check=True
        )
    assert [int(word) for word in done.stdout.split()] == local()
