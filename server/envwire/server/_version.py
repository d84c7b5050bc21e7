"""The version of the installed distribution."""

from __future__ import annotations

from importlib.metadata import version

import envwire

#: In an interpreter other than the server's, where the distribution may be missing, the server passes the version.
VERSION = __version__ = getattr(envwire, "__version__", "") or version("envwire")
