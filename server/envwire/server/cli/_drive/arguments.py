"""Parses NAME=VALUE arguments of environments and wrappers; values are JSON or plain text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast


def keyword_arguments(options: Iterable[str]) -> dict[str, Any]:
    """Parses NAME=VALUE options: `is_slippery=false`, `map_name=8x8`.

    Raises:
        ValueError: An option has no name or no value.
    """
    arguments: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"--kwarg {option!r} is not NAME=VALUE, for example is_slippery=false")
        arguments[name] = _value(value)
    return arguments


def wrapper_requests(options: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    """Parses wrappers: `ClipAction`, or with arguments `TimeLimit={"max_episode_steps": 100}`.

    Raises:
        ValueError: A wrapper's arguments are not a JSON object.
    """
    wrappers: list[tuple[str, dict[str, Any]]] = []
    for option in options:
        name, _, text = option.partition("=")
        arguments = _value(text or "{}")
        if not isinstance(arguments, dict):
            raise ValueError(
                f"--wrapper {option!r}: what follows = must be a JSON object of arguments, for example "
                'TimeLimit={"max_episode_steps": 100}'
            )
        wrappers.append((name, cast("dict[str, Any]", arguments)))
    return wrappers


def making(
    kwarg: Iterable[str] | None, wrapper: Iterable[str] | None, library: str, transport: str
) -> dict[str, Any]:
    """Parses the options of a command that makes an environment into arguments of `RemoteEnv`.

    Raises:
        ValueError: An option does not have the required form.
    """
    return {
        "env_kwargs": keyword_arguments(kwarg or ()),
        "wrappers": wrapper_requests(wrapper or ()),
        "library": library or None,
        "transport": transport,
    }


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
