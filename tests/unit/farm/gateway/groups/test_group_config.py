"""The tables of groups in a farm's file: what they mean, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.farm.gateway.groups.group_config import GroupConfig, read_groups

KNOWN = ("environments", "python", "max_sessions", "step_timeout", "labels")
POLE: dict[str, Any] = {"environments": ["CartPole-v1"]}


def read(engine: str = "local", **tables: dict[str, Any]) -> dict[str, GroupConfig]:
    return read_groups(tables, {"step_timeout": 7.0}, KNOWN, engine)


def test_a_table_has_settings_of_the_group_and_of_its_servers() -> None:
    group = read(pole={**POLE, "max": 8, "idle": 5, "max_sessions": 16})["pole"]
    assert (group.min, group.max, group.idle, group.slots) == (0, 8, 5, 16)
    assert group.server.step_timeout == 7.0
    assert group.engine == "local"
    assert group.declares("CartPole-v1")
    assert not group.declares("Pendulum-v1")


def test_patterns_are_served_and_not_listed() -> None:
    group = read(ale={"environments": ["ALE/*", "CartPole-v1"]})["ale"]
    assert group.ids == {"CartPole-v1"}
    assert group.declares("ALE/Pong-v5")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, "groups.it: name its environments"),
        ({**POLE, "maximum": 3}, "groups.it: unknown setting 'maximum'; did you mean max?"),
        ({**POLE, "port": 50051}, "groups.it: unknown setting 'port'"),
        ({**POLE, "min": 3}, "groups.it: min is 3, more than max, 1"),
        ({**POLE, "idle": "5"}, "groups.it: idle is '5'; it must be a number"),
        ({**POLE, "engine": "swarm"}, "groups.it: engine is 'swarm'; it must be local"),
        ({**POLE, "memory": 10**9}, "groups.it: memory is not for servers on engine 'local'"),
        (
            {**POLE, "engine": "docker"},
            "groups.it: engine 'docker' takes an image: image = 'registry/robots:3'",
        ),
        (
            {**POLE, "packages": ["robots"], "python": "/opt/python"},
            "groups.it: packages are for an interpreter that the farm makes; leave python out",
        ),
        ({**POLE, "max_sessions": 0}, "groups.it: max_sessions"),
    ],
)
def test_what_is_wrong_is_said(table: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"^groups\.it: ") as caught:
        read(it=table)
    assert told in str(caught.value)


def test_an_id_is_in_one_group() -> None:
    with pytest.raises(ValueError, match="CartPole-v1 is in groups one and other"):
        read(one=POLE, other=POLE)


def test_a_name_is_one_that_all_engines_accept() -> None:
    with pytest.raises(ValueError, match="small letters, digits and -"):
        read(Pole=POLE)


def image(name: str) -> str:
    return read("docker", it={**POLE, "image": name})["it"].image


@pytest.mark.parametrize(
    "name",
    [
        "envwire-server",
        "my_minigrid:3",
        "localhost:5000/robots/arm:v1.2-cuda",
        "Registry.example/a/b@sha256:" + "0" * 64,
    ],
)
def test_images_are_named_as_engines_do(name: str) -> None:
    assert image(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "--privileged",
        "robots -v /:/host",
        "../robots",
        "registry/../robots",
        "https://registry/robots",
        "me:secret@registry/robots",
        "robots\nFROM other",
        "$HOME",
    ],
)
def test_what_is_no_name_of_an_image_is_refused_before_an_engine_sees_it(name: str) -> None:
    with pytest.raises(ValueError, match="must be the name of an image"):
        image(name)
