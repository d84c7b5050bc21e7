"""The conformance suite: checks of a server against docs/protocol.md, sentence by sentence.

It uses raw gRPC calls and plain sockets instead of envwire's client, so that it can send what no correct client sends.
docs/conformance.md explains how to run it; `envwire conformance --list` lists the checks.
"""

from __future__ import annotations

__all__: list[str] = []
