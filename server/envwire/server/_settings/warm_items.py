"""Items of environments to make ahead, as the operator writes them: ID=NUMBER, or ID{JSON of kwargs}=NUMBER."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
