"""Landlock's rules only allow: what lies beside the closed paths is allowed, and nothing beneath them."""

from __future__ import annotations

from pathlib import Path

from envwire.server._worker.confining.landlock import above, beside


def test_nothing_beneath_a_closed_path_is_allowed(tmp_path: Path) -> None:
    """A closed path beneath another one had its neighbours allowed, which the outer one closes."""
    for name in ("closed/inner/closed", "closed/inner/beside", "open"):
        (tmp_path / name).mkdir(parents=True)
    closed = [tmp_path / "closed", tmp_path / "closed/inner/closed"]
    assert above(closed) == set(tmp_path.parents) | {tmp_path}
    allowed = [path for path in beside(closed) if path.is_relative_to(tmp_path)]
    assert allowed == [tmp_path / "open"]
