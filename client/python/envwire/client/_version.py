"""The version of the installed distribution; "" if the client is not installed as a distribution."""

from __future__ import annotations

from envwire.client._transports.versions import own_version

__version__ = own_version()
