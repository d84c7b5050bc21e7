"""The example trains on one device over the wire, to the weights of a local training."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("torch", reason="make test-agents installs it")

from examples.recipes import device_ppo


def test_the_weights_are_those_of_a_local_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_ppo, "ENVS", 8)
    monkeypatch.setattr(sys, "argv", ["device_ppo", "--updates", "2"])
    assert device_ppo.main() == 0
    assert "equal to those of a local training: yes" in capsys.readouterr().out
