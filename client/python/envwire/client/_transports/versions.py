"""The version of this client, and whether it is compatible with a server: at most one minor version apart."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

try:
    #: The version of this client; "" if it is not installed as a distribution.
    __version__ = version("envwire")
except PackageNotFoundError:
    __version__ = ""

_log = logging.getLogger("envwire.client")

_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def complaint(served: str, own: str) -> str | None:
    """Returns a warning about incompatible versions; None if they are compatible or one is unknown.

    Args:
        served: The server's version.
        own: The client's version.
    """
    theirs, ours = _NUMBERS.match(served), _NUMBERS.match(own)
    if theirs is None or ours is None:
        return None
    if int(theirs[1]) == int(ours[1]) and abs(int(theirs[2]) - int(ours[2])) <= 1:
        return None
    return (
        f"the server runs envwire {served}, and this client is {own}: they are compatible at most one minor version "
        f"apart. Install envwire {theirs[0]} here, or {ours[0]} there"
    )


@lru_cache(maxsize=1024)
def check_version(target: str, served: str) -> None:
    """Logs a warning, once per server, if its version and this one may be incompatible."""
    if (text := complaint(served, __version__)) is not None:
        _log.warning("%s: %s", target, text)
