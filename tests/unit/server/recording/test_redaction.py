"""Where the operator's names are looked for in what is recorded."""

from __future__ import annotations

import pytest

from envwire.server._recording.recording import REDACTED, Redaction
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2


def _key(kind: str) -> values_pb2.Value:
    """A key that is no text and contains the name: bytes, or a tuple of texts, or of tuples of bytes."""
    key = values_pb2.Value()
    if kind == "bytes":
        key.bytes_value = b"api_key"
    elif kind == "tuple":
        for name in ("user", "api_key"):
            key.tuple.values.add(string_value=name)
    else:
        key.tuple.values.add().tuple.values.add(bytes_value=b"api_key")
    return key


@pytest.mark.parametrize("kind", ["bytes", "tuple", "nested"])
def test_keys_that_are_no_texts_are_searched(kind: str) -> None:
    request = pb.InteractRequest()
    request.reset.options.entries.add(other=_key(kind), value=values_pb2.Value(string_value="hush"))
    request.reset.options.entries.add(
        other=values_pb2.Value(bytes_value=b"seed"), value=values_pb2.Value(string_value="told")
    )
    recorded = pb.InteractRequest.FromString(
        Redaction(["api_*"]).request(request.SerializeToString())
    )
    values = [entry.value.string_value for entry in recorded.reset.options.entries]
    assert values == [REDACTED, "told"]


@pytest.mark.parametrize(("patterns", "told"), [(["api_key"], REDACTED), ([], "<Env key=hush>")])
def test_how_an_environment_describes_itself_is_left_out(patterns: list[str], told: str) -> None:
    made = pb.MakeResponse(description="<Env key=hush>")
    Redaction(patterns).make(pb.MakeRequest(), made)
    assert made.description == told
