"""docs/protocol.md says what the code does: its tables are the code's, its examples are run."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.message import Message

from envwire.client._transports.transport import call
from envwire.codec import Reason, encode_value
from envwire.envs.vector import AutoresetMode
from envwire.server import InProcessTransport
from envwire.server._front.sessions import life
from envwire.server._ipc.refusals import SESSION_REQUESTS
from envwire.server._session.states import TRANSITIONS, Event, State
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2, values_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[3]
_PAGE = (_ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")

_EVENTS = {
    "reset": Event.RESET,
    "step": Event.STEP,
    "step that ends": Event.STEP_ENDED,
    "close": Event.CLOSE,
}
_STATUS_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
_NAMES = {"np": np, "io": io, "AutoresetMode": AutoresetMode}


def table(first_column: str) -> list[list[str]]:
    """Returns the rows of the table whose first column has this title, the titles first."""
    lines = _PAGE.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows: list[list[str]] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return [rows[0], *rows[2:]]


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_of_a_life_is_the_fronts() -> None:
    titles, *rows = table("life")
    drawn = {
        (life.Life[row[0]], life.LifeEvent(title)): life.Life[cell]
        for row in rows
        for title, cell in zip(titles[2:], row[2:], strict=True)
        if cell != "-"
    }
    assert drawn == life.TRANSITIONS
    assert {row[0]: row[1] for row in rows} == {one.name: one.value for one in life.Life}


def test_the_table_of_ends_is_the_fronts() -> None:
    kills = {"closed": False, "killed": True}
    drawn = {life.LifeEvent(row[0]): (codes(row[2]), kills[row[3]]) for row in table("end")[1:]}
    assert drawn == {event: ([end.reason.value], end.kills) for event, end in life.ENDS.items()}


def test_the_table_of_states_is_the_sessions() -> None:
    titles, *rows = table("state")
    drawn = {
        (State[row[0]], _EVENTS[title]): State[cell]
        for row in rows
        for title, cell in zip(titles[2:], row[2:], strict=True)
        if cell != "-"
    }
    assert drawn == TRANSITIONS
    assert {row[0]: row[1] for row in rows} == {state.name: state.value for state in State}


def test_the_table_of_reasons_is_the_codecs() -> None:
    ends = {True: "is over", False: ""}
    assert table("reason")[1:] == [
        [each.value, _STATUS_NAMES[each.code], ends[each.ends_session], each.meaning]
        for each in Reason
    ]
    assert all(each.meaning.endswith(".") for each in Reason)


def test_the_c_header_knows_the_reasons_that_end_a_session() -> None:
    header = (_ROOT / "client/cpp/include/envwire.h").read_text(encoding="utf-8")
    ending = re.search(r"const ending\[\] = \{([^}]+)\}", header)
    assert ending is not None
    named = set(re.findall(r'"(\w+)"', ending[1]))
    assert named == {each.value for each in Reason if each.ends_session}


def test_the_table_of_methods_is_the_services() -> None:
    numbered = {method: row[2] for row in table("method")[1:] for method in codes(row[0])}
    service = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
    assert numbered.pop("Interact") == "-"
    assert numbered == {
        method.name: "yes" if "sequence" in method.input_type.fields_by_name else "no"
        for method in service.methods
        if not method.client_streaming
    }
    assert list(numbered.values()).count("yes") == len(SESSION_REQUESTS)


def test_the_table_of_samples_knows_every_space() -> None:
    known = [kind for row in table("space")[1:] for kind in codes(row[0])]
    kinds = spaces_pb2.Space.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert sorted(known) == sorted(field.name for field in kinds)


@pytest.mark.parametrize("row", table("Python")[1:], ids=lambda row: row[0])
def test_examples_of_values(row: list[str]) -> None:
    (expression,), (text,) = map(codes, row)
    message = values_pb2.Value()
    encode_value(eval(expression, dict(_NAMES)), message, opaque=True)
    assert message == text_format.Parse(text, values_pb2.Value())


def test_examples_of_values_show_every_kind_but_graphs() -> None:
    shown = {
        text_format.Parse(text, values_pb2.Value()).WhichOneof("kind")
        for row in table("Python")[1:]
        for text in codes(row[1])
    }
    kinds = values_pb2.Value.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert shown == {field.name for field in kinds} - {"graph"}


def _conversation() -> Iterator[tuple[pb.InteractRequest, pb.InteractResponse]]:
    """Yields each request of the example and its answer."""
    (block,) = re.findall(r"```textproto\n(.*?)```", _PAGE, re.DOTALL)
    for exchange in block.split("# InteractRequest\n")[1:]:
        request, _, answer = exchange.partition("# InteractResponse\n")
        yield (
            text_format.Parse(request, pb.InteractRequest()),
            text_format.Parse(answer, pb.InteractResponse()),
        )


#: What differs from run to run, or from server to server.
_VARYING = frozenset({"session_id", "secret", "incarnation", "lease", "step_timeout"})


def _assert_holds(answer: Any, shown: Any) -> None:
    """Checks that `answer` has all the fields of `shown`, which may leave some out."""
    if not isinstance(shown, Message):
        assert answer == shown
        return
    for field, value in shown.ListFields():
        if field.name not in _VARYING:
            assert field.message_type is None or field.is_repeated or answer.HasField(field.name)
            _assert_holds(getattr(answer, field.name), value)


def test_the_conversation_happens_as_shown() -> None:
    server = InProcessTransport(["CartPole-v1"])
    made = pb.MakeResponse()
    for request, shown in _conversation():
        body = getattr(request, request.WhichOneof("request") or "")
        if made.session_id:
            assert body.header.secret
            body.header.session_id, body.header.secret = made.session_id, made.secret
        answer = call(server, request, 5.0)
        assert answer.WhichOneof("response") == shown.WhichOneof("response")
        _assert_holds(answer, shown)
        made = answer.make if answer.HasField("make") else made
    server.close_sessions()
