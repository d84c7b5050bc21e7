"""Continues a program's OpenTelemetry trace on the server (extra `otel`).

>>> from envwire.client.otel import TracedCredentials
>>> with tracer.start_as_current_span("rollout"):
...     env = RemoteEnv("localhost:50051", "CartPole-v1", credentials=TracedCredentials())
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from envwire.client.credentials import Credentials


@dataclass(frozen=True)
class TracedCredentials(Credentials):
    """Credentials that carry the span in which an environment is made, so that the server's spans join its trace.

    An environment's connection keeps this span for its whole life. Arguments are those of `Credentials`.

    Raises:
        ModuleNotFoundError: OpenTelemetry is not installed.
    """

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...] | None:
        """The metadata with the token and the trace, for each call."""
        propagation: Any = import_module("opentelemetry.trace.propagation.tracecontext")
        trace: dict[str, str] = {}
        propagation.TraceContextTextMapPropagator().inject(trace)
        return (*(super().metadata or ()), *trace.items()) or None
