"""The conformance suite: checks of a server against docs/protocol.md, sentence by sentence.

It speaks with raw gRPC calls and plain sockets, never with envwire's client, so that it can send what no client sends.
docs/conformance.md tells how to run it; `envwire conformance --list` shows the checks.
"""

from __future__ import annotations

__all__: list[str] = []
