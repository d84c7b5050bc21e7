"""Groups of environments: the settings of their tables, inherited settings, and refused ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envwire.server.config import ServerConfig

A: dict[str, Any] = {"environments": ["A-v0"]}


def of(table: dict[str, Any], **settings: Any) -> ServerConfig:
    config = ServerConfig(("B-v0",), groups={"a": table}, **settings)
    assert list(config.by_group()) == ["", "a"]
    return config.by_group()["a"]


def test_limits_are_the_servers_where_the_table_is_silent() -> None:
    assert of(A, max_session_cpu=9, step_timeout=5.0).max_session_cpu == 9
    assert of({**A, "max_session_cpu": 3}, max_session_cpu=9).max_session_cpu == 3


def test_what_runs_the_environments_is_the_groups_own() -> None:
    own = {"imports": ("m",), "python": "python", "variables": ("X=1",), "gpus": "0"}
    group = of(A, **own, allow_wrappers=("m:W",), warm=("B-v0=1",))
    assert (group.imports, group.python, group.variables, group.gpus) == ((), "", (), "")
    assert (group.allow_wrappers, group.warm, group.groups) == ((), (), {})
    table = {name: list(value) if name != "python" else value for name, value in own.items()}
    assert of({**A, **table, "gpus": "1"}).imports == ("m",)


def test_a_group_does_not_know_the_others_tables() -> None:
    config = ServerConfig(("B-v0",), groups={"a": A, "b": {"environments": ["C-v0"]}})
    assert all(each.groups == {} for each in config.by_group().values())
    assert "C-v0" not in config.by_group()["a"].to_json()


def test_a_server_may_have_groups_alone_or_none() -> None:
    assert list(ServerConfig((), groups={"a": A}).by_group()) == ["a"]
    config = ServerConfig(("B-v0",))
    assert config.by_group() == {"": config}


def test_processes_read_what_the_server_wrote() -> None:
    config = ServerConfig(("B-v0",), groups={"a": A})
    assert ServerConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("name", "table", "says"),
    [
        ("a", {**A, "pyton": "p"}, r"groups\.a: unknown setting 'pyton'; did you mean python"),
        ("a", {**A, "port": 1}, r"groups\.a: port is a setting of the whole server.*environments"),
        ("a", {**A, "groups": {}}, r"groups\.a: groups is a setting of the whole server"),
        ("a", {**A, "max_sessions": 0}, r"groups\.a: max_sessions .* is 0; it must be more"),
        ("a", {**A, "variables": ["X"]}, "it must be NAME=VALUE each"),
        ("a", {"imports": ["m"]}, r"groups\.a: name its environments"),
        ("a", {"environments": []}, r"groups\.a: nothing to serve"),
        ("a b", A, r"groups\.a b: a group's name is 1 to 64 letters"),
        ("a", [], "groups .* must be a table of tables"),
    ],
)
def test_a_table_that_is_wrong_says_where_and_what(name: str, table: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ServerConfig(("B-v0",), groups={name: table})


def test_groups_do_not_go_with_dev() -> None:
    with pytest.raises(ValueError, match=r"--dev goes neither .* nor with --join and groups"):
        ServerConfig((), groups={"a": A}, dev=True)


@pytest.mark.parametrize(
    "text", ["A-v0", "A-v0=0", "A-v0=x", "A-v0{=1", "A-v0{1}=1", "=1", "A v0=1"]
)
def test_environments_to_make_ahead_have_a_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be ID=NUMBER or ID.JSON of"):
        ServerConfig(("A-v0",), warm=(text,))


def test_environments_to_make_ahead_have_bounds() -> None:
    items = ('A-v0{"x": [1, {"y": 2}]}=2', "ns/A-v0=1")
    assert replace(ServerConfig(("A-v0",), warm=items), max_sessions=3).warm == items
    with pytest.raises(ValueError, match=r"asks for 3 environments, and max_sessions .* is 2"):
        ServerConfig(("A-v0",), warm=items, max_sessions=2)
    with pytest.raises(ValueError, match="--warm does not go with --record"):
        ServerConfig(("A-v0",), warm=items, record="somewhere")
