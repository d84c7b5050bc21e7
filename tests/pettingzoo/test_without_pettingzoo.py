"""The server's handling of PettingZoo, also if it is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from envwire.server import InProcessTransport
from envwire.server._hosting.pettingzoo import flag_pair


@pytest.mark.parametrize(
    ("terminations", "truncations", "truth"),
    [
        ([False, False], [False, False], (False, False)),
        ([True, False], [False, False], (False, False)),
        ([True, True], [False, False], (True, False)),
        ([False, False], [True, True], (False, True)),
        ([True, False], [False, True], (True, True)),
        ([], [], (True, False)),
    ],
)
def test_single_flags(
    terminations: list[bool], truncations: list[bool], truth: tuple[bool, bool]
) -> None:
    pair = flag_pair(dict(enumerate(terminations)), dict(enumerate(truncations)))
    assert tuple(map(bool, pair)) == truth
    assert [list(flags.values()) for flags in pair] == [terminations, truncations]


def test_only_its_own_patterns_load_it() -> None:
    program = (
        "import sys; from envwire.server import InProcessTransport;"
        "InProcessTransport(['CartPole-v1']); assert 'pettingzoo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_without_pettingzoo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(ImportError, match="pip install"):
        InProcessTransport(["pettingzoo/classic/*"])
