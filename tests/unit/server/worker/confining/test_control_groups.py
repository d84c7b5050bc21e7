"""Control groups: where a process finds its own, and what killing one kills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.server._worker.confining.control_groups import (
    ControlGroups,
    find_group,
    own_group,
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


def started(script: str) -> int:
    """Starts a process in the group of this one, and returns its number."""
    if pid := os.fork():
        return pid
    try:
        os.execvp("sh", ["sh", "-c", f"exec {script}"])
    finally:
        os._exit(0)


def own() -> Path:
    """Returns the group of this process."""
    found = own_group()
    assert found
    return found


def members(group: Path) -> list[int]:
    return list(map(int, (group / "cgroup.procs").read_text().split()))


def test_what_a_process_leaves_is_killed_with_its_group(groups: ControlGroups) -> None:
    groups.enter_next()
    group = own()
    pid = started("sh -c 'setsid setsid sleep 600 >/dev/null 2>&1 &'")
    groups.put(pid)
    groups.enter_next()
    neighbour = started("sleep 600")
    groups.put(neighbour)
    groups.enter_next()
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
    groups.enter_next()
    first, copy = started("sleep 600"), started("sleep 600")
    groups.put(first)
    groups.leave()
    groups.move(copy)
    groups.end(first)
    groups.kill_ended()
    os.waitpid(first, 0)
    assert alive(copy)
    groups.end(copy)
    groups.kill_ended()
    os.waitpid(copy, 0)


def test_without_a_further_group_this_process_is_in_that_of_no_session(
    groups: ControlGroups,
) -> None:
    before = own()
    groups.enter_next()
    group = own()
    groups.put(started("sleep 600"))
    (group.parent / "2").mkdir()  # so that the next one cannot be created
    with pytest.raises(FileExistsError):
        groups.enter_next()
    assert own() == before


def test_nothing_is_left_of_the_groups(groups: ControlGroups) -> None:
    groups.enter_next()
    directory = own().parent
    pid = started("sleep 600")
    assert directory.name.startswith("envwire_")
    groups.kill_all()
    os.waitpid(pid, 0)
    groups.close(5.0)
    assert not directory.exists()


def test_where_there_are_no_groups_there_is_nothing_to_do() -> None:
    groups = ControlGroups(None)
    groups.enter_next()
    groups.put(1)
    groups.move(2)
    groups.end(1)
    groups.kill_ended()
    groups.kill_all()
    groups.close(0.0)
