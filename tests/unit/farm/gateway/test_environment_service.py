"""The credentials of clients that a gateway forwards to servers with relayed requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from envwire.farm.gateway import environment_service as module


def test_servers_get_the_token_and_the_trace_and_nothing_else() -> None:
    passed = (("authorization", "Bearer t"), ("traceparent", "00-1-2-01"), ("tracestate", "a=b"))
    kept = (("user-agent", "x"), ("envwire-ticket-bin", b"x"), ("envwire-reservation-bin", b"x"))
    context: Any = SimpleNamespace(invocation_metadata=lambda: (*kept, *passed))
    assert module._forwarded(context) == passed
    nothing: Any = SimpleNamespace(invocation_metadata=lambda: None)
    assert module._forwarded(nothing) == ()
