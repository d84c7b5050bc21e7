"""Killing processes by their numbers: a number that stands for more than one process kills none."""

from __future__ import annotations

import os
import signal

import pytest

from envwire.server._ipc.orphans import kill


def test_no_number_stands_for_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *each: killed.append(each))
    monkeypatch.setattr(os, "killpg", lambda *each: killed.append(each))
    kill([-1, 0, 1, 1234567])
    assert killed == [(1234567, signal.SIGKILL)] * 2
