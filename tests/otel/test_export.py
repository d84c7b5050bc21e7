"""A real server sends its spans to a collector, and stops in time when the collector does not answer."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.sdk.trace import TracerProvider

from envwire.client import RemoteEnv
from envwire.client.otel import TracedCredentials
from envwire.server import Server

ENV = "CartPole-v1"


class Collector(http.server.ThreadingHTTPServer):
    """Takes spans as collectors do, by HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Any] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(raw)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{collector.server_address[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        yield collector
        collector.shutdown()
        thread.join()


@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_spans_of_a_session_reach_the_collector(collector: Collector, transport: str) -> None:
    tracer = TracerProvider().get_tracer("test")
    with Server([ENV], otel=True, otel_steps=1.0) as server:
        with tracer.start_as_current_span("rollout") as rollout:
            env = RemoteEnv(
                server.target, ENV, transport=transport, credentials=TracedCredentials()
            )
        env.reset(seed=1)
        for _ in range(3):
            env.step(0)
        env.close()
    names = sorted(span.name for span in collector.spans)
    assert names == ["Make", "Reset", "Step", "Step", "Step"]
    parent = rollout.get_span_context()
    for span in collector.spans:
        assert int.from_bytes(span.trace_id, "big") == parent.trace_id
        assert int.from_bytes(span.parent_span_id, "big") == parent.span_id
        assert span.end_time_unix_nano > span.start_time_unix_nano
        assert {each.key for each in span.attributes} <= {
            *("rpc.system", "rpc.service", "rpc.method"),
            *("envwire.env_id", "envwire.session_id"),
        }


def test_a_collector_that_does_not_answer_holds_up_nobody() -> None:
    command = (sys.executable, "-m", "envwire", "serve", ENV, "--port", "0", "--otel")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "3600"}
        with subprocess.Popen(
            command, env={**os.environ, **told}, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None
                target = process.stdout.readline().split()[1]
                env = RemoteEnv(target, ENV, transport="stream")
                env.reset(seed=1)
                env.close()
                process.terminate()
                assert process.wait(30) == 0, "long before the collector's hour is over"
            finally:
                process.kill()
