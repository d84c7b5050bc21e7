"""The version of the installed distribution, which clients and servers tell each other; "" if there is none."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import envwire


def _installed() -> str:
    try:
        return version("envwire")
    except PackageNotFoundError:
        return ""


#: In an interpreter other than the server's, where the distribution may be missing, the server passes the version.
VERSION = __version__ = getattr(envwire, "__version__", "") or _installed()
