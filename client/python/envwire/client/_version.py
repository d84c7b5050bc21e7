"""The version of the installed distribution; "" where the client is not installed as one."""

from __future__ import annotations

from envwire.client._transports.versions import own_version

__version__ = own_version()
