"""Control groups: where a process finds its own, and what killing one kills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.server._worker.confining.control_groups import (
    ControlGroups,
    enter,
    find_group,
)
from tests.adversary.ledger import eventually, has_control_groups
from tests.faults.scene import alive

MOUNT = "41 31 0:38 {root} {at} rw,relatime - cgroup2 cgroup2 rw\n"
OTHER = "42 31 0:39 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"


@pytest.mark.parametrize(
    ("memberships", "mounts", "found"),
    [
        ("0::/\n", MOUNT.format(root="/", at="/sys/fs/cgroup"), "/sys/fs/cgroup"),
        ("1:cpu:/x\n0::/a/b\n", OTHER + MOUNT.format(root="/", at="/cg"), "/cg/a/b"),
        ("0::/a/b\n", MOUNT.format(root="/a", at="/cg"), "/cg/b"),
        ("0::/b\n", MOUNT.format(root="/a", at="/cg"), None),
        ("0::/a\n", OTHER, None),
        ("1:cpu:/x\n", MOUNT.format(root="/", at="/cg"), None),
        ("", "", None),
    ],
)
def test_a_process_finds_its_group(memberships: str, mounts: str, found: str | None) -> None:
    assert find_group(memberships, mounts) == (Path(found) if found else None)


@pytest.fixture
def groups() -> Iterator[ControlGroups]:
    """Groups of this process."""
    if not has_control_groups():
        pytest.skip("no control groups of version 2 in which a process may make others")
    groups = ControlGroups.here()
    yield groups
    groups.kill_all()
    groups.close(5.0)


def started(group: Path | None, script: str) -> int:
    """Starts a process that enters a group, and returns its number once it has."""
    if pid := os.fork():
        assert group is None or eventually(lambda: pid in members(group) or not alive(pid))
        return pid
    try:
        enter(group)
        os.execvp("sh", ["sh", "-c", f"exec {script}"])
    finally:
        os._exit(0)


def members(group: Path) -> list[int]:
    return list(map(int, (group / "cgroup.procs").read_text().split()))


def test_what_a_process_leaves_is_killed_with_its_group(groups: ControlGroups) -> None:
    group, other = groups.new(), groups.new()
    assert group
    assert other
    pid = started(group, "sh -c 'setsid setsid sleep 600 >/dev/null 2>&1 &'")
    neighbour = started(other, "sleep 600")
    groups.put(pid, group)
    groups.put(neighbour, other)
    os.waitpid(pid, 0)
    left = members(group)
    assert left
    groups.end(pid)
    groups.kill_ended()
    assert eventually(lambda: not any(map(alive, left)))
    assert alive(neighbour)
    groups.kill_ended()
    assert not group.exists()
    groups.kill_all()
    os.waitpid(neighbour, 0)


def test_a_process_that_is_moved_does_not_end_with_those_it_was_among(
    groups: ControlGroups,
) -> None:
    group = groups.new()
    assert group
    first, copy = started(group, "sleep 600"), started(group, "sleep 600")
    assert eventually(lambda: {first, copy} <= set(members(group)))
    groups.put(first, group)
    groups.move(copy)
    groups.end(first)
    groups.kill_ended()
    os.waitpid(first, 0)
    assert alive(copy)
    groups.end(copy)
    groups.kill_ended()
    os.waitpid(copy, 0)


def test_nothing_is_left_of_the_groups(groups: ControlGroups) -> None:
    group = groups.new()
    assert group
    directory = group.parent
    pid = started(group, "sleep 600")
    assert directory.name.startswith("envwire_")
    groups.kill_all()
    os.waitpid(pid, 0)
    groups.close(5.0)
    assert not directory.exists()


def test_where_there_are_no_groups_there_is_nothing_to_do() -> None:
    groups = ControlGroups(None)
    group = groups.new()
    assert group is None
    groups.put(1, group)
    groups.move(2)
    groups.end(1)
    groups.kill_ended()
    groups.kill_all()
    groups.discard(group)
    groups.close(0.0)
