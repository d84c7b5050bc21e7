"""Interpreters that are not fit are refused by name; processes get the operator's variables and no token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from envwire.server import __version__
from envwire.server._processes.forkserver_start import ForkserverError
from envwire.server._processes.interpreter import Interpreter
from envwire.server._worker import main
from envwire.server.config import ServerConfig

_WHERE = """
import envwire.server._worker.main as program
from envwire.wire.version import VERSION
print(program.__file__, VERSION)
"""
FIT = {"Python": "3.10.0", "numpy": "1.26.0", "protobuf": "6.31.1"}


def interpreter(**settings: Any) -> Interpreter:
    return Interpreter(ServerConfig(("A-v0",), **settings))


def reporting(directory: Path, text: str) -> Interpreter:
    """Returns an interpreter whose program prints a text."""
    program = directory / "python"
    program.write_text(f"#!/bin/sh\necho '{text}'\n")
    program.chmod(0o755)
    return interpreter(python=program)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"Python": "3.9.19"}, "python has Python 3.9.19; environments need Python 3.10 or newer"),
        ({"numpy": "1.25.2"}, "has numpy 1.25.2; environments need numpy 1.26 or newer there"),
        ({"protobuf": "6.31.0"}, "has protobuf 6.31.0; environments need protobuf 6.31.1"),
        ({"protobuf": "5.29.5"}, "has protobuf 5.29.5; environments need protobuf 6.31.1"),
        ({"protobuf": ""}, "has no protobuf; environments need protobuf 6.31.1 or newer there"),
    ],
)
def test_what_is_too_old_or_missing_is_named(
    found: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ForkserverError, match=says):
        reporting(tmp_path, json.dumps([{**FIT, **found}, []])).check()


@pytest.mark.parametrize("newer", [{}, {"Python": "3.14.0rc1"}, {"protobuf": "7.35.0rc2"}])
def test_what_is_new_enough_is_taken(newer: dict[str, str], tmp_path: Path) -> None:
    reporting(tmp_path, json.dumps([{**FIT, **newer}, []])).check()


def test_a_program_that_is_no_python_is_named(tmp_path: Path) -> None:
    with pytest.raises(ForkserverError, match=f"{tmp_path}/python does not run as a Python"):
        reporting(tmp_path, "hello").check()
    with pytest.raises(ForkserverError, match="does not run as a Python interpreter"):
        interpreter(python=tmp_path / "none").check()


def test_the_servers_own_interpreter_is_not_asked() -> None:
    own = interpreter()
    own.check()
    assert (own.program, own.packages) == (sys.executable, [])


def test_another_interpreter_tells_its_packages() -> None:
    other = interpreter(python=sys.executable)
    other.check()
    assert f"pytest=={pytest.__version__}" in other.packages


def test_another_interpreter_runs_this_code_though_another_copy_is_in_its_way(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "envwire" / "server" / "_version.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("VERSION = 'of a copy'")
    other = interpreter(python=sys.executable, variables=(f"PYTHONPATH={tmp_path}",))
    (program, option, run), variables = other.command()
    beginning = run[: run.index("runpy.run_module")]
    said = subprocess.run(
        [program, option, beginning + _WHERE],
        env=variables,
        cwd=tmp_path,
        stdout=PIPE,
        text=True,
        check=True,
    ).stdout
    assert variables["PYTHONPATH"] == str(tmp_path)
    assert said.split() == [main.__file__, __version__]


def test_variables_are_those_of_the_server_without_the_operators_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secrets = {
        "ENVWIRE_TOKEN",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    }
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("COLOUR", "red")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    assert interpreter().variables() == {
        name: value for name, value in os.environ.items() if name not in secrets
    }
    given = interpreter(variables=("COLOUR=blue=green",), gpus="2").variables()
    assert (given["COLOUR"], given["CUDA_VISIBLE_DEVICES"]) == ("blue=green", "2")
    hidden = interpreter(variables=("HIP_VISIBLE_DEVICES=7",), gpus="none").variables()
    assert (hidden["CUDA_VISIBLE_DEVICES"], hidden["HIP_VISIBLE_DEVICES"]) == ("-1", "7")


@pytest.mark.parametrize(
    ("gpus", "chosen"), [("2,3", ("2", "2,3")), ("1", ("1", "1")), ("none", None), ("GPU-5c", None)]
)
def test_renderers_choose_the_first_device(gpus: str, chosen: tuple[str, str] | None) -> None:
    seen = interpreter(gpus=gpus).variables()
    assert (seen.get("MUJOCO_EGL_DEVICE_ID"), seen.get("EGL_VISIBLE_DEVICES")) == (
        chosen or (None, None)
    )
