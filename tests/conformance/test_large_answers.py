"""The suite bounds the size of a server's answers, and a check that gets a larger one says so."""

from __future__ import annotations

import pytest

from envwire.conformance.checks import CHECKS
from envwire.conformance.proxy import Behaviour, Proxy, Upstream
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.runner import Outcome, Runner
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.wire.varints import varint

_BYTES = 20_000_000
#: Field 1000, of so many bytes.
_UNKNOWN = b"\xc2\x3e" + varint(_BYTES)


class Padded(Behaviour):
    """Sends answers of one kind with a field that no message has, which is to be ignored, of 20 MB."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.WhichOneof("response") == self._kind:
            getattr(response, self._kind).MergeFromString(_UNKNOWN + b"x" * _BYTES)
        return response


def found(server: Server, kind: str, name: str) -> str:
    (check,) = (check for check in CHECKS if check.name == name)
    with Proxy(server.target, Padded(kind)) as proxy:
        (result,) = Runner(Access(proxy.target), Selection([check.profile], [name])).results()
    assert result.outcome is Outcome.FAILED
    return result.text


@pytest.mark.parametrize("link", ["stream", "direct"])
def test_a_large_answer_is_not_taken_in(checked: Server, link: str) -> None:
    text = found(checked, "step", f"steps.a-step-is-taken-once[{link}]")
    assert "an answer of at most 16777217 bytes, not one of 200000" in text


def test_a_large_description_of_the_server_fails_its_check(checked: Server) -> None:
    text = found(checked, "get_server_info", "info.limits-are-told[unary]")
    assert "an answer of at most 16777217 bytes" in text
