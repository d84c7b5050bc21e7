"""Checks of settings, their types and the ranges of their values, and of the system that a server is to run on."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union, cast

from envwire.server._logs import FORMATS
from envwire.wire.addresses import parse_address

_ITEM = re.compile(r"(?P<env_id>[^={}\s]+)(?P<kwargs>\{.*\})?=(?P<count>[1-9]\d*)")


@dataclass(frozen=True)
class WarmItem:
    """Environments to keep ready.

    Attributes:
        env_id: Their id.
        count: Number of environments.
        kwargs: Keyword arguments of `make`.
    """

    env_id: str
    count: int
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])


def read_item(text: str) -> WarmItem:
    """Parses an item.

    Raises:
        ValueError: The text does not have the form of an item.
    """
    found = _ITEM.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return WarmItem(found["env_id"], int(found["count"]), json.loads(found["kwargs"] or "{}"))


def are_items(texts: Sequence[str]) -> bool:
    """Returns whether all texts are valid items."""
    try:
        return all(map(read_item, texts))
    except ValueError:
        return False


def check_warm(texts: Sequence[str], max_sessions: int, *, recorded: bool) -> None:
    """Refuses more environments than sessions, and environments ahead on a server that records sessions.

    Raises:
        ValueError: The settings contradict each other; the message says how.
    """
    count = sum(read_item(text).count for text in texts)
    if count > max_sessions:
        raise ValueError(
            f"warm (--warm) asks for {count} environments, and max_sessions (--max-sessions) is {max_sessions}"
        )
    if count and recorded:
        raise ValueError(
            "--warm does not go with --record: a recording begins when its client makes the environment"
        )


#: Path of a file. A Union because it is also a key of `KINDS` at run time.
FilePath = Union[str, os.PathLike[str]]  # noqa: UP007


class Check(NamedTuple):
    """A condition on a value, and how an error message words it."""

    holds: Callable[[Any], bool]
    expected: str


class ValueKind(NamedTuple):
    """A type of setting.

    Attributes:
        check: Whether a value is of the type.
        parse: Parses the value of an environment variable; raises ValueError if it is invalid.
        option: The type of the command-line option; None for no option.
    """

    check: Check
    parse: Callable[[str], Any]
    option: Any


def _is_a(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: object) -> bool:
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else (None,)
    return all(isinstance(item, str) for item in items)


_BOOLS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _parse_bool(text: str) -> bool:
    if text.lower() not in _BOOLS:
        raise ValueError(text)
    return _BOOLS[text.lower()]


KINDS: dict[Any, ValueKind] = {
    bool: ValueKind(Check(_is_a(bool), "true or false"), _parse_bool, bool),
    int: ValueKind(Check(_is_whole_number, "a whole number"), int, int),
    float: ValueKind(Check(_is_number, "a number"), float, float),
    str: ValueKind(Check(_is_a(str), "a text"), str, str),
    FilePath: ValueKind(Check(_is_a(str, os.PathLike), "the name of a file"), str, str),
    Sequence[str]: ValueKind(Check(_are_texts, "a list of texts"), str.split, list[str]),
}


def _between(least: float, most: float = math.inf) -> Callable[[float], bool]:
    return lambda value: least <= value <= most


def _is_positive(value: float) -> bool:
    return value > 0


_FEWEST_FILES = 32


def _is_enough_files(value: int) -> bool:
    return value == 0 or value >= _FEWEST_FILES


def _is_command(text: str) -> bool:
    try:
        words = shlex.split(text)
    except ValueError:  # an open quotation mark
        return False
    return not words or shutil.which(words[0]) is not None


def _are_pairs(value: Sequence[str]) -> bool:
    return all(item.partition("=")[0] and "=" in item for item in value)


_LAST_PORT = 65535


def _is_address(name: str) -> bool:
    host, _, port = name.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) <= _LAST_PORT


def _is_address_or_empty(name: str) -> bool:
    return not name or parse_address(name) is not None


def _are_addresses(value: Sequence[str]) -> bool:
    return all(_is_address(name) for names in value for name in names.split(",") if name)


ANYTHING = Check(_is_a(object), "anything")
POSITIVE = Check(_is_positive, "more than 0")
PART = Check(_between(0, 1), "from 0 to 1")
NOT_NEGATIVE = Check(_between(0), "0 or more")
LIMIT = Check(_between(0), "0, for no limit, or more")
PORT = Check(_between(0, _LAST_PORT), "a port up to 65535, or 0 for any free one")
OPTIONAL_PORT = Check(_between(0, _LAST_PORT), "a port up to 65535, or 0 for none")
DIRECT_PORT = Check(
    _between(-1, _LAST_PORT), "a port up to 65535, 0 for any free one, or -1 for no direct channel"
)
FILES = Check(
    _is_enough_files,
    f"0, for no limit of its own, or {_FEWEST_FILES} or more: the session's process itself opens about a dozen",
)
COMPRESSION = Check(("auto", "off").__contains__, "auto or off")
LOG_FORMAT = Check(FORMATS.__contains__, " or ".join(FORMATS))
STARTS = ("auto", "fork", "spawn")
START = Check(STARTS.__contains__, ", ".join(STARTS[:-1]) + " or " + STARTS[-1])
COMMAND = Check(
    _is_command, "a program that can be run, with its arguments: a path, or found in PATH"
)
PAIRS = Check(_are_pairs, "NAME=VALUE each")
ADDRESS = Check(_is_address_or_empty, "HOST:PORT")
ADDRESSES = Check(_are_addresses, "HOST:PORT each")
WARM = Check(are_items, "ID=NUMBER or ID{JSON of keyword arguments}=NUMBER each")


def check_system() -> None:
    """Checks that this is Linux, whose own system calls fork and confine session processes and hand them sockets.

    Raises:
        OSError: This is another system.
    """
    if not sys.platform.startswith("linux"):
        raise OSError(
            f"servers run on Linux only, and this is {sys.platform!r}; run it in a container "
            "(docker/server.Dockerfile), in WSL 2 or on another machine. Clients run here."
        )
