"""The golden vectors are the current bytes, match their descriptions, and are read and written by the codec."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format

from envwire.codec import (
    Opaque,
    decode_fault,
    decode_random_state,
    decode_space,
    decode_value,
    encode_space,
    encode_value,
    envwire_family,
)
from envwire.codec.digests import RollingDigest
from envwire.conformance.protojson import pool
from envwire.v1 import direct_pb2, environment_pb2, spaces_pb2, status_pb2, values_pb2
from tests.each import each
from tests.vectors.files import FILES
from tests.vectors.vector import FOLDER

MODULES = (direct_pb2, environment_pb2, spaces_pb2, status_pb2, values_pb2)
MESSAGES = ("errors.json", "messages.json", "random.json", "spaces.json", "values.json")
FAMILY = envwire_family()


def load(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


def message_of(vector: dict[str, Any]) -> Any:
    kind: str = vector["holds"].rpartition(".")[2]
    (module,) = (module for module in MODULES if hasattr(module, kind))
    return getattr(module, kind).FromString(bytes.fromhex(vector["hex"]))


def named(name: str) -> Any:
    return each("vector", {str(vector["name"]): vector for vector in load(name)})


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_code_writes(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == FILES[name](), "python -m tests.vectors writes it anew"


@pytest.mark.parametrize("name", MESSAGES)
def test_bytes_and_protojson_are_the_same_message(name: str) -> None:
    for vector in load(name):
        message = message_of(vector)
        message.DiscardUnknownFields()
        parsed = type(message)()
        json_format.ParseDict(vector["json"], parsed, descriptor_pool=pool())
        written = parsed.SerializeToString(deterministic=True)
        assert written == message.SerializeToString(deterministic=True), vector["name"]
        assert (written.hex() == vector["hex"]) is vector["canonical"], vector["name"]


@named("values.json")
def test_a_value_is_read_and_written(vector: dict[str, Any]) -> None:
    message = message_of(vector)
    value = decode_value(message, FAMILY)
    if isinstance(value, Opaque):
        return  # it is never written
    again = values_pb2.Value()
    encode_value(value, again)
    message.DiscardUnknownFields()
    assert again == message


@named("spaces.json")
def test_a_space_is_read_and_written(vector: dict[str, Any]) -> None:
    again = spaces_pb2.Space()
    encode_space(decode_space(message_of(vector), FAMILY), again)
    assert again.SerializeToString(deterministic=True).hex() == vector["hex"]


@named("random.json")
def test_a_generator_draws_what_the_vector_says(vector: dict[str, Any]) -> None:
    generator = decode_random_state(message_of(vector))
    draws = {
        "random()": generator.random,
        "integers(0, 10)": lambda: generator.integers(0, 10),
        "integers(0, 10, dtype=uint32)": lambda: generator.integers(0, 10, dtype=np.uint32),
        "standard_normal()": generator.standard_normal,
    }
    for name, numbers in vector["draws"].items():
        assert [draws[name]() for _ in numbers] == numbers


@named("errors.json")
def test_an_error_is_read(vector: dict[str, Any]) -> None:
    fault = decode_fault(message_of(vector), FAMILY)
    if vector["name"] == "all details":
        assert fault.exception is not None
        assert (fault.exception.type_name, fault.exception.args) == (
            "builtins.ValueError",
            ("no", 7),
        )
        assert (fault.retry_after, fault.output) == (1.5, "the last words\n")
        assert len(fault.traceback) == 2
    else:
        assert (fault.reason.value, fault.code) == (vector["name"], fault.reason.code)


@named("digests.json")
def test_answers_have_the_digest(vector: dict[str, Any]) -> None:
    digest = RollingDigest()
    for answer in vector["answers"]:
        digest.add(None if answer is None else bytes.fromhex(answer))
    assert digest.value().hex() == vector["digest"]
