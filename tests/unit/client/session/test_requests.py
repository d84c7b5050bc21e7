"""Conversion of a proxy's arguments to a Make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from envwire.client import InvalidRequestError
from envwire.client._session.requests import make_request
from envwire.codec import decode_mapping, envwire_family


def requested(wrappers: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
    family = envwire_family()
    request = make_request("Any-v0", None, wrappers, None, family, None, {})
    return [(item.name, decode_mapping(item.kwargs, family)) for item in request.wrappers]


def test_a_wrapper_is_a_name_alone_or_with_arguments() -> None:
    wrappers = ["ClipAction", ("TimeLimit", {"max_episode_steps": 5})]
    assert requested(wrappers) == [("ClipAction", {}), ("TimeLimit", {"max_episode_steps": 5})]


@pytest.mark.parametrize("wrappers", ["TimeLimit", [int], [("TimeLimit",)], [("TimeLimit", 5)]])
def test_what_is_no_wrapper_is_refused_here(wrappers: Any) -> None:
    with pytest.raises(InvalidRequestError, match="TimeLimit"):
        requested(wrappers)


@pytest.mark.parametrize("env_id", [3, None, b"CartPole-v1"])
def test_an_id_that_is_no_string_is_named(env_id: Any) -> None:
    with pytest.raises(TypeError, match=f"id {env_id!r} is not a string.*'CartPole-v1'"):
        make_request(env_id, None, [], None, envwire_family(), None, {})
