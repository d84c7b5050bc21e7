"""A proxy in front of a server, which can misbehave on purpose (see `Behaviour`)."""

from __future__ import annotations

from envwire.conformance.proxy.behaviour import Behaviour, CutError, Forward, Upstream
from envwire.conformance.proxy.proxy import Certificate, Proxy

__all__ = ["Behaviour", "Certificate", "CutError", "Forward", "Proxy", "Upstream"]
