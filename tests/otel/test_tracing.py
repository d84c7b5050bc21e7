"""Spans of a server: their number, their attributes, and that they contain nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from envwire.client.otel import TracedCredentials
from envwire.codec import FaultError, Reason
from envwire.server._auth.client import TRUSTED, Client
from envwire.server._front.grpc.tracing import Tracing
from envwire.server._front.sessions.table import Stream
from envwire.server._ipc.refusals import fault_reply
from envwire.v1 import environment_pb2 as pb

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = ("traceparent", f"00-{TRACE}-{SPAN}-01")
HEADER = pb.SessionHeader(session_id="session-1", secret=b"hunter2hunter2")
MADE = pb.InteractResponse(make=pb.MakeResponse(session_id="session-1", secret=b"hunter2hunter2"))
STEPPED = pb.InteractResponse(step=pb.StepResponse())
RESET = pb.InteractResponse(reset=pb.ResetResponse())
FAILED = fault_reply(FaultError(Reason.UNKNOWN_ENVIRONMENT, "no hunter2 here"))


def make(env_id: str = "CartPole-v1") -> pb.InteractRequest:
    request = pb.InteractRequest(make=pb.MakeRequest(env_id=env_id))
    entry = request.make.kwargs.entries.add(name="password")
    entry.value.string_value = "hunter2"
    return request


def step() -> pb.InteractRequest:
    return pb.InteractRequest(step=pb.StepRequest(header=HEADER, sequence=1))


class Call:
    """A call with metadata."""

    def __init__(self, metadata: tuple[tuple[str, Any], ...]) -> None:
        self.invocation_metadata = lambda: metadata


class Scene:
    """A server's tracing, whose spans are kept in memory."""

    def __init__(self, steps: float = 1.0, draws: tuple[float, ...] = ()) -> None:
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.reply = b""
        drawn: Iterator[float] = iter(draws)
        self.tracing = Tracing(self._serve, self.provider, steps, lambda: next(drawn, 0.5))

    async def _serve(self, raw: bytes, stream: Stream | None, client: Client) -> bytes:
        return self.reply

    def ask(self, request: Any, reply: Any, *metadata: tuple[str, Any]) -> bytes:
        self.reply = reply.SerializeToString()
        raw = request if isinstance(request, bytes) else request.SerializeToString()

        async def asked() -> bytes:
            context: Any = Call(metadata)
            return await self.tracing.exchange(context)(raw, None, TRUSTED)

        return asyncio.run(asked())

    @property
    def spans(self) -> Any:
        return self.kept.get_finished_spans()


def test_a_make_is_a_part_of_its_clients_trace() -> None:
    scene = Scene()
    assert scene.ask(make(), MADE, PARENT, ("some-bin", b"1")) == MADE.SerializeToString()
    (span,) = scene.spans
    assert (span.name, span.kind) == ("Make", SpanKind.SERVER)
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == SPAN
    assert dict(span.attributes) == {
        "rpc.system": "grpc",
        "rpc.service": "envwire.v1.EnvironmentService",
        "rpc.method": "Make",
        "envwire.env_id": "CartPole-v1",
        "envwire.session_id": "session-1",
    }


def test_no_secret_no_argument_and_no_text_of_a_client_is_told() -> None:
    scene = Scene()
    scene.ask(make(), MADE, PARENT, ("authorization", "Bearer hunter2"))
    scene.ask(make("hunter2-v0"), FAILED)
    scene.ask(step(), STEPPED)
    scene.ask(pb.InteractRequest(reset=pb.ResetRequest(header=HEADER)), RESET)
    assert [span.name for span in scene.spans] == ["Make", "Make", "Step", "Reset"]
    told = "".join(span.to_json() for span in scene.spans)
    assert "hunter2" not in told
    assert "password" not in told


def test_an_error_is_told_by_its_reason() -> None:
    scene = Scene()
    scene.ask(make(), FAILED)
    (span,) = scene.spans
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == span.attributes["error.type"] == "UNKNOWN_ENVIRONMENT"
    assert "envwire.env_id" not in span.attributes


def test_steps_have_spans_as_often_as_the_operator_says() -> None:
    scene = Scene(steps=0.25, draws=(0.1, 0.3, 0.24, 0.25, 0.9))
    for _ in range(5):
        scene.ask(step(), STEPPED)
    assert len(scene.spans) == 2
    never = Scene(steps=0.0, draws=(0.0,))
    never.ask(step(), STEPPED)
    never.ask(make(), MADE)
    assert [span.name for span in never.spans] == ["Make"]


@pytest.mark.parametrize("shown", ["", "garbage", "00-0-0-01", f"ff-{TRACE}-{SPAN}-01", "x" * 9000])
def test_a_trace_that_cannot_be_read_begins_anew(shown: str) -> None:
    scene = Scene()
    scene.ask(make(), MADE, ("traceparent", shown))
    (span,) = scene.spans
    assert span.parent is None


def test_a_client_that_is_not_sampled_is_not_traced() -> None:
    scene = Scene()
    scene.ask(make(), MADE, ("traceparent", f"00-{TRACE}-{SPAN}-00"))
    assert scene.spans == ()


@pytest.mark.parametrize("raw", [b"", b"\xff", b"nonsense", b"\x00" * 20])
def test_nonsense_is_served_as_without_tracing(raw: bytes) -> None:
    scene = Scene()
    assert scene.ask(raw, FAILED) == FAILED.SerializeToString()


def test_credentials_carry_the_span_of_the_program() -> None:
    tracer = TracerProvider().get_tracer("test")
    assert TracedCredentials(token=None).metadata is None
    with tracer.start_as_current_span("rollout") as span:
        found = dict(TracedCredentials(token="t0ken").metadata or ())
    assert found["authorization"] == "Bearer t0ken"
    assert f"{span.get_span_context().span_id:016x}" in str(found["traceparent"])
    assert "t0ken" not in repr(TracedCredentials(token="t0ken"))


def test_nothing_is_imported_unless_it_is_on() -> None:
    program = (
        "import sys, envwire.server._front.grpc.grpc_server, envwire.server.serving, envwire.client.env\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
