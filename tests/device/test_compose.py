"""The two containers of docker/gpu.yaml see the same GPU and the same socket; a run of them needs both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import envwire
from tests.conftest import ROOT

SERVICES: dict[str, Any] = yaml.safe_load((Path(ROOT) / "docker/gpu.yaml").read_text())["services"]


def test_both_reserve_the_same_gpu_and_share_the_network() -> None:
    simulator, agent = SERVICES["simulator"], SERVICES["agent"]
    (device,) = simulator["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert agent["deploy"] == simulator["deploy"]
    assert agent["network_mode"] == "service:simulator"
    assert not {"ports", "ipc", "pid", "privileged"} & {*simulator, *agent}


@pytest.mark.parametrize("name", SERVICES)
def test_the_options_of_its_commands_exist(name: str) -> None:
    command, *rest = SERVICES[name]["command"]
    shown = envwire(command, "--help-all" if command == "serve" else "--help").stdout
    assert all(word in shown for word in rest if word.startswith("--"))
