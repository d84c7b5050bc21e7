"""OpenTelemetry spans of requests over gRPC (extra `otel`), imported only by a server with --otel.

A span has the kind of request, the environment's id, the session's id, and the reason of an error. It contains nothing
else that clients send or environments answer.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from envwire.codec.errors.statuses import reason_of
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context
from envwire.server._front.makes.request_size import split_session_request
from envwire.server._front.sessions.table import Exchange, Stream
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS, RESPONSES
from envwire.wire.version import VERSION

_SDK, _EXPORTER = "opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"
#: Seconds for exporting the last spans when the server stops.
_FLUSH_SECONDS = 3.0
#: Names of spans, by kind of request.
_NAMES = {"make": "Make", "reset": "Reset", "step": "Step"}
_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"].full_name


class Tracing:
    """Records a span for each Make and Reset, and for a fraction of the steps.

    Args:
        exchange: Serves requests.
        provider: OpenTelemetry's TracerProvider.
        steps: Fraction of the steps that have spans, from 0 to 1.
        draw: Returns random numbers from 0 to 1.
    """

    def __init__(
        self,
        exchange: Exchange,
        provider: Any,
        steps: float,
        draw: Callable[[], float] = random.random,
    ) -> None:
        trace: Any = import_module("opentelemetry.trace")
        context: Any = import_module("opentelemetry.trace.propagation.tracecontext")
        self._serve = exchange
        self._provider = provider
        self._steps, self._draw = steps, draw
        self._tracer = provider.get_tracer("envwire.server", VERSION)
        self._kind, self._status = trace.SpanKind.SERVER, trace.Status
        self._error = trace.StatusCode.ERROR
        self._extract = context.TraceContextTextMapPropagator().extract

    def exchange(self, context: Context) -> Exchange:
        """Returns the function that serves a call's requests, as parts of the trace that its metadata names."""
        metadata = context.invocation_metadata() or ()
        shown = {key: each for key, each in metadata if key == "traceparent"}
        return partial(self._traced, self._extract(shown))

    async def _traced(
        self, parent: Any, raw: bytes, stream: Stream | None, client: Client
    ) -> bytes:
        kind = REQUESTS.kind(raw)
        if kind not in _NAMES or (kind == "step" and self._draw() >= self._steps):
            return await self._serve(raw, stream, client)
        called = {"rpc.system": "grpc", "rpc.service": _SERVICE, "rpc.method": _NAMES[kind]}
        span = self._tracer.start_span(
            _NAMES[kind], context=parent, kind=self._kind, attributes=called
        )
        try:
            reply = await self._serve(raw, stream, client)
            if span.is_recording():
                self._describe(span, kind, raw, reply)
            return reply
        finally:
            span.end()

    def _describe(self, span: Any, kind: str, raw: bytes, reply: bytes) -> None:
        answer, content = RESPONSES.unwrap(reply)
        if answer == "error":
            reason = reason_of(pb.InteractResponse.FromString(reply).error).value
            span.set_attribute("error.type", reason)
            span.set_status(self._status(self._error, reason))
        elif kind == "make":  # it was made, so the id is one that the server hosts
            request = pb.InteractRequest.FromString(raw).make
            span.set_attribute("envwire.env_id", request.env_id)
            made = pb.MakeResponse.FromString(content)
            span.set_attribute("envwire.session_id", made.session_id)
        elif parts := split_session_request(raw):  # the session answered, so it exists
            span.set_attribute("envwire.session_id", parts.parse_header().session_id)

    async def stop(self) -> None:
        """Exports the last spans; does not wait for a collector that does not answer."""
        flushing = threading.Thread(target=self._provider.force_flush, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, _FLUSH_SECONDS)


def check_installed(config: ServerConfig) -> None:
    """Checks that a server with --otel has the packages for it.

    Raises:
        OSError: A package is missing; the message names the extra.
    """
    for package in (_SDK, _EXPORTER) if config.otel else ():
        if not _is_installed(package):
            raise OSError(f"{package} is not installed; --otel needs: pip install 'envwire[otel]'")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package that contains it
        return False


def tracing(exchange: Exchange, config: ServerConfig) -> Tracing | None:
    """Returns the tracing, if the operator wants it. OpenTelemetry's own variables configure where spans are sent.

    Args:
        exchange: Serves requests.
        config: The server's settings.
    """
    if not config.otel:
        return None
    load: Callable[[str], Any] = import_module
    sdk, resources, export, exporter = map(
        load, (_SDK, "opentelemetry.sdk.resources", f"{_SDK}.export", _EXPORTER)
    )
    named = {
        "service.version": VERSION,
        "service.name": os.environ.get("OTEL_SERVICE_NAME", "envwire"),
    }
    # Its thread is a daemon and `stop` flushes, so that a collector that does not answer cannot delay the server's end.
    provider = sdk.TracerProvider(resource=resources.Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(export.BatchSpanProcessor(exporter.OTLPSpanExporter()))
    return Tracing(exchange, provider, config.otel_steps)
