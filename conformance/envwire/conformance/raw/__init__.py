"""The raw client: messages, the links that carry them, and sessions, independent of envwire's client."""

from __future__ import annotations

from envwire.conformance.raw.access import Access, Operator
from envwire.conformance.raw.answers import Answer
from envwire.conformance.raw.box_link import BoxLink
from envwire.conformance.raw.direct_link import DirectLink
from envwire.conformance.raw.grpc_links import Grpc, StreamLink, UnaryLink
from envwire.conformance.raw.session import Link, Session
from envwire.conformance.raw.trace import Trace

__all__ = [
    "Access",
    "Answer",
    "BoxLink",
    "DirectLink",
    "Grpc",
    "Link",
    "Operator",
    "Session",
    "StreamLink",
    "Trace",
    "UnaryLink",
]
