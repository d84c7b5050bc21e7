"""`envwire check`: its findings are plain text, and an unreachable server ends it at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from typer.testing import CliRunner

import envwire.envs as gym
from envwire.server.cli._app import app
from envwire.server.cli._author.env_checks import CHECKS


def test_advice_has_no_colours_of_a_terminal() -> None:
    subject: Any = SimpleNamespace(library=gym, other=lambda: gym.make("CartPole-v1"))
    advice = CHECKS["API"](subject)
    assert "minimum value is -infinity" in advice
    assert "\x1b" not in advice
    assert "WARN" not in advice
    assert ".;" not in advice


def test_nobody_there_is_one_line() -> None:
    done = CliRunner().invoke(app, ["check", "CartPole-v1", "--target", "127.0.0.1:1"])
    assert done.exit_code == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("envwire check: nothing listens at 127.0.0.1:1")
