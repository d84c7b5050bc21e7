"""Commands of other distributions are found by entry points, and missing ones say what installs them."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from envwire.server.cli import _app
from envwire.server.cli._app import app


def _installed(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [EntryPoint(name, value, _app.GROUP) for name, value in points.items()]
    monkeypatch.setattr(_app, "entry_points", lambda group: found)


def hello(name: str) -> None:
    """Say hello."""
    typer.echo(f"hello {name}")


def liar() -> None:
    raise AssertionError("a command of the core was replaced")


@pytest.mark.parametrize(
    ("command", "extra"),
    [("farm", "farm"), ("dashboard", "dashboard"), ("conformance", "conformance")],
)
def test_a_command_that_is_not_installed_says_what_installs_it(
    command: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(monkeypatch)
    done = CliRunner().invoke(app, [command, "up"])
    assert done.exit_code == 2
    assert f"envwire {command}: not installed; run: pip install 'envwire[{extra}]'" in done.output
    assert f"in a clone: pip install ./{extra}" in done.output
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "serve" in shown
    assert "conformance" not in shown


def test_an_entry_point_adds_a_command_and_replaces_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(monkeypatch, hello=f"{__name__}:hello", list=f"{__name__}:liar")
    assert CliRunner().invoke(app, ["hello", "Ada"]).output == "hello Ada\n"
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "Say hello." in shown
    assert CliRunner().invoke(app, ["list", "--help"]).exit_code == 0


def test_an_entry_point_that_cannot_be_loaded_breaks_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _installed(monkeypatch, broken="no.such.module:command", hello=f"{__name__}:hello")
    assert "Say hello." in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["hello", "Ada"]).output == "hello Ada\n"
    assert isinstance(CliRunner().invoke(app, ["broken"]).exception, ImportError)


def test_the_help_of_commands_from_entry_points_is_literal_and_in_its_panel() -> None:
    shown = CliRunner().invoke(app, ["--help"], terminal_width=100).output
    panels = shown[shown.index("Serve") :]
    names = ("serve", "farm", "dashboard", "image", "conformance", "replay")
    places = [panels.index(f" {name} ") for name in names]
    assert places == sorted(places)
