"""The version of this client; "" if it is not installed as a distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("envwire")
except PackageNotFoundError:
    __version__ = ""
