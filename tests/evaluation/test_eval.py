"""`envwire eval` on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envwire.server import Server
from envwire.server.cli._app import app


def envwire(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)])


def test_an_evaluation_is_the_same_for_any_number_of_shards(server: Server, tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "eight"]
    for shards, file in zip((1, 8), files, strict=True):
        told = envwire(
            server.target,
            *("CartPole-v1", "--episodes", 20, "--seed", 3, "--shards", shards, "--json", file),
        )
        assert told.exit_code == 0, told.output
        assert "20 terminated, 0 truncated, 0 cut" in told.output
    assert files[0].read_bytes() == files[1].read_bytes()
    results = json.loads(files[0].read_text())
    low, high = results["return"]["ci95"]
    assert low < results["return"]["mean"] < high
    assert len(results["episodes"]) == 20


def test_a_policy_of_ones_own_plays(server: Server) -> None:
    policy = "tests.hosted_envs:always_one"
    told = envwire(server.target, "CartPole-v1", "--episodes", 3, "--json", "-", "--policy", policy)
    results = json.loads(told.output)
    assert results["policy"] == policy
    assert 8 <= results["length"]["min"] <= results["length"]["max"] <= 10


def test_results_that_are_printed_alone_are_plotted_too(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "figure.py").write_text(
        "from unittest.mock import MagicMock\n"
        "class Figure(MagicMock):\n"
        "    def savefig(self, path, **_):\n"
        "        path.write_bytes(b'plotted')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plot = tmp_path / "returns.png"
    told = envwire(
        server.target, "CartPole-v1", "--episodes", 2, "--json", "-", "--plot", str(plot)
    )
    assert told.exit_code == 0, told.output
    assert len(json.loads(told.stdout)["episodes"]) == 2
    assert told.stderr == f"wrote {plot}\n"
    assert plot.read_bytes() == b"plotted"


def test_long_episodes_are_cut(server: Server) -> None:
    told = envwire(server.target, "Pendulum-v1", "--episodes", 2, "--max-steps", 7, "--json", "-")
    results = json.loads(told.output)
    assert results["ends"] == {"terminated": 0, "truncated": 0, "cut": 2}
    assert results["length"]["mean"] == 7


def test_an_environment_that_always_dies_ends_the_evaluation(server: Server) -> None:
    policy = "tests.evaluation.policies:fatal"
    told = envwire(server.target, "tests/Faulty-v0", "--episodes", 2, "--policy", policy)
    assert told.exit_code == 1
    assert "envwire eval: " in told.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("No-v0",), "No-v0"),
        (("CartPole-v1", "--policy", "no_such_module:policy"), "no_such_module"),
        (("CartPole-v1", "--policy", "json:nothing"), "has no function nothing"),
        (("CartPole-v1", "--json", "/no/such/place"), "no directory /no/such"),
    ],
)
def test_errors_are_told(server: Server, arguments: tuple[str, ...], says: str) -> None:
    told = envwire(server.target, *arguments, "--episodes", 2)
    assert told.exit_code == 1
    assert says in told.output
    assert "Traceback" not in told.output
