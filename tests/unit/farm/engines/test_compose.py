"""The containers that `envwire farm up --on compose` describes; a run of them needs an engine."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.farm.engines.compose import compose_file
from envwire.farm.gateway.config import GatewayConfig
from envwire.server._settings.setting import gather
from envwire.server.config import SETTINGS, ServerConfig, freeze_lists


def described(count: int = 2, **settings: Any) -> dict[str, Any]:
    config = ServerConfig(**{"environments": ("CartPole-v1", "Acro*"), **settings})
    services: dict[str, Any] = compose_file(count, config, GatewayConfig(port=7), "mine")[
        "services"
    ]
    return services


def test_the_gateway_is_published_on_loopback_and_servers_are_not() -> None:
    services = described(3)
    assert services["gateway"]["ports"] == ["127.0.0.1:7:50050"]
    assert "ports" not in services["server"]
    assert services["server"]["deploy"] == {"replicas": 3}
    assert {each["image"] for each in services.values()} == {"mine"}


def test_the_servers_have_the_settings_that_were_given() -> None:
    given: dict[str, Any] = {
        "environments": ("CartPole-v1", "tests/$x"),
        "max_sessions": 5,
        "lease": 2.5,
        "share_processes": True,
        "labels": ("a=b", "c=d"),
        "log_format": "json",
    }
    variables = described(**given)["server"]["environment"]
    assert len(variables) == len(given)
    read = {name: value.replace("$$", "$") for name, value in variables.items()}
    assert freeze_lists(gather(SETTINGS, {}, read, "")) == given


def test_a_container_has_the_time_to_drain() -> None:
    assert described(drain_timeout=45.0)["server"]["stop_grace_period"] == "55s"


@pytest.mark.parametrize("name", ["tokens", "record", "join_token"])
def test_a_file_of_this_machine_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names a file of this machine"):
        described(**{name: "/some/file"})
