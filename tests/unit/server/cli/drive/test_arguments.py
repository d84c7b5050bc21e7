"""Arguments of environments and wrappers as the command line takes them."""

from __future__ import annotations

import pytest

from envwire.server.cli._parameters import keyword_arguments, wrapper_requests


def test_values_are_json_or_texts() -> None:
    options = ["is_slippery=false", "map_name=8x8", "size=[2, 3]", "text=a=b"]
    expected = {"is_slippery": False, "map_name": "8x8", "size": [2, 3], "text": "a=b"}
    assert keyword_arguments(options) == expected


@pytest.mark.parametrize("option", ["is_slippery", "=1", "two words=1"])
def test_an_argument_needs_a_name_and_a_value(option: str) -> None:
    with pytest.raises(ValueError, match="NAME=VALUE"):
        keyword_arguments([option])


def test_wrappers() -> None:
    options = ["ClipAction", 'TimeLimit={"max_episode_steps": 5}']
    assert wrapper_requests(options) == [
        ("ClipAction", {}),
        ("TimeLimit", {"max_episode_steps": 5}),
    ]


def test_arguments_of_a_wrapper_are_an_object() -> None:
    with pytest.raises(ValueError, match="JSON object"):
        wrapper_requests(["TimeLimit=5"])
