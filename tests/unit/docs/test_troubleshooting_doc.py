"""docs/troubleshooting.md has every reason of a server and every exception class of the client."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from envwire.client import errors
from envwire.codec import Reason

_PAGE = (Path(__file__).parents[3] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
_ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", _PAGE, re.MULTILINE))


def test_every_exception_class_is_there() -> None:
    classes = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.RemoteError)
    }
    assert classes - set(_ROWS) == set()


def test_every_reason_is_there() -> None:
    assert {reason.value for reason in Reason} - set(_ROWS) == set()
