"""The version of the installed distribution."""

from __future__ import annotations

from importlib.metadata import version

import envwire

#: Another interpreter than the server's is told; the distribution need not be installed there.
VERSION = __version__ = getattr(envwire, "__version__", "") or version("envwire")
