"""Conversion of a proxy's arguments to a Make."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from envwire.client import InvalidRequestError
from envwire.client._session.requests import make_request, merged
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


@pytest.mark.parametrize("value", [3, b"rgb_array", ["rgb_array"]])
@pytest.mark.parametrize("name", ["render_mode", "library"])
def test_a_text_that_is_none_is_named(name: str, value: Any) -> None:
    given = {"render_mode": None, "library": None, name: value}
    with pytest.raises(TypeError, match=re.escape(f"{name}={value!r} is not a string")):
        make_request("x", wrappers=[], family=envwire_family(), lease=None, kwargs={}, **given)


@pytest.mark.parametrize("env_kwargs", [3, "ab", [("a", 1)]])
def test_keyword_arguments_that_are_no_mapping_are_named(env_kwargs: Any) -> None:
    with pytest.raises(TypeError, match=r"env_kwargs=.* is not a mapping"):
        merged(env_kwargs, {})
