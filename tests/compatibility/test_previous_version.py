"""The current code is compatible with the previous version: it reads its bytes, and answers its requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envwire.codec import decode_value, encode_value, envwire_family
from envwire.conformance.proxy import Proxy
from envwire.conformance.raw import Access, Grpc, StreamLink, Trace, UnaryLink
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.compatibility.recorded import (
    PREVIOUS,
    Replayer,
    kind_of,
    lasting,
    load,
    without_additions,
)
from tests.compatibility.sessions import SESSIONS, drive
from tests.unit.codec.test_vectors import MESSAGES, message_of
from tests.vectors.vector import FOLDER

SECONDS = 20.0


def _vectors(folder: Path, name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((folder / name).read_text("utf-8"))
    return loaded


def _name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(["Conformance/*", "CartPole-v1"]) as running:
        yield running


def answers(
    link: UnaryLink | StreamLink, requests: list[pb.InteractRequest]
) -> Iterator[pb.InteractResponse]:
    """Sends the requests of a session, and yields the answers."""
    header = pb.SessionHeader()
    for request in requests:
        if (kind := kind_of(request)) != "make":
            getattr(request, kind).header.CopyFrom(header)
        answer = link.exchange(request, SECONDS).response
        if kind == "make":
            header = pb.SessionHeader(session_id=answer.make.session_id, secret=answer.make.secret)
        yield answer


@pytest.mark.parametrize("transport", ["unary", "stream"])
@pytest.mark.parametrize("name", SESSIONS)
def test_the_server_answers_a_client_of_the_previous_version(
    server: Server, name: str, transport: str
) -> None:
    exchanges = load(name)
    grpc = Grpc(Access(server.target), Trace())
    link = UnaryLink(grpc) if transport == "unary" else StreamLink(grpc, SECONDS)
    try:
        found = list(answers(link, [request for request, _ in exchanges]))
    finally:
        link.close()
        grpc.close()
    for new, (request, old) in zip(found, exchanges, strict=True):
        assert without_additions(lasting(new), old) == old, request


@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
@pytest.mark.parametrize("name", SESSIONS)
def test_the_client_reads_a_server_of_the_previous_version(
    server: Server, name: str, transport: str
) -> None:
    with Proxy(server.target, Replayer(load(name))) as proxy:
        seen = drive(name, proxy.target, transport)
    np.testing.assert_equal(seen, drive(name, server.target, transport))


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_of_the_previous_version_are_read(name: str) -> None:
    today = {one["name"]: one for one in _vectors(FOLDER, name)}
    for old in _vectors(PREVIOUS / "vectors", name):
        message = message_of(old)
        message.DiscardUnknownFields()
        new = message_of(today[old["name"]])
        new.DiscardUnknownFields()
        assert without_additions(new, message) == message, old["name"]


@pytest.mark.parametrize("old", _vectors(PREVIOUS / "vectors", "values.json"), ids=_name)
def test_values_of_the_previous_version_are_read_and_written(old: dict[str, Any]) -> None:
    if old["name"] == "opaque":
        return  # it is never written
    message = message_of(old)
    again = values_pb2.Value()
    encode_value(decode_value(message, envwire_family()), again)
    message.DiscardUnknownFields()
    assert again == message
