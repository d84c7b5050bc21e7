"""Sessions as messages: recorded between a client and a server, and played again to either of them."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

from envwire.conformance.proxy import Behaviour
from envwire.conformance.proxy.behaviour import Upstream
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

PREVIOUS = Path(__file__).parent / "previous"
#: Requests that any session may send at any time, and whose answers are of the moment.
_OF_THE_MOMENT = {"list_environments", "get_server_info", "renew_lease", "get_session_stats"}
#: Fields of a `Make` that belong to one run of a server.
_OF_THE_RUN = ("session_id", "secret", "incarnation", "address", "direct")


def kind_of(request: pb.InteractRequest) -> str:
    """Returns the name of its field."""
    return request.WhichOneof("request") or ""


def lasting(answer: pb.InteractResponse) -> pb.InteractResponse:
    """Returns an answer without what belongs to one run: addresses, secrets, tracebacks."""
    kept = pb.InteractResponse()
    kept.CopyFrom(answer)
    del kept.notices[:]
    if kept.HasField("make"):
        for name in _OF_THE_RUN:
            kept.make.ClearField(name)
        _forget_generators(kept.make)
    if kept.HasField("error"):
        details = [one for one in kept.error.details if not one.type_url.endswith("DebugInfo")]
        del kept.error.details[:]
        kept.error.details.extend(_without_session(one) for one in details)
    return kept


def _forget_generators(message: Any) -> None:
    """Takes the generators out of spaces: those of a run are like no others."""
    for field, value in message.ListFields():
        if field.name == "np_random":
            message.ClearField(field.name)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for part in [value] if hasattr(value, "ListFields") else value:
                _forget_generators(part)


def _without_session(detail: Any) -> Any:
    if detail.type_url.endswith("ErrorInfo"):
        info = status_pb2.ErrorInfo.FromString(detail.value)
        info.metadata.pop("session_id", None)
        detail.value = info.SerializeToString(deterministic=True)
    return detail


class Recorder(Behaviour):
    """Notes the requests of a client without their headers, and what lasts of their answers."""

    def __init__(self) -> None:
        self.exchanges: list[tuple[pb.InteractRequest, pb.InteractResponse]] = []

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Sends the request on."""
        answer = upstream.forward(request)
        if (kind := kind_of(request)) not in _OF_THE_MOMENT:
            bare = pb.InteractRequest()
            bare.CopyFrom(request)
            if kind != "make":
                getattr(bare, kind).ClearField("header")
            self.exchanges.append((bare, lasting(answer)))
        return answer


class Replayer(Behaviour):
    """Answers a client as a server did that was recorded; a server of today makes and keeps the session."""

    def __init__(self, exchanges: list[tuple[pb.InteractRequest, pb.InteractResponse]]) -> None:
        self._left = deque(exchanges)

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Returns the recorded answer."""
        kind = kind_of(request)
        if kind in _OF_THE_MOMENT:
            return upstream.forward(request)
        recorded, answer = self._left.popleft()
        assert kind_of(recorded) == kind, f"{kind}, where {kind_of(recorded)} was recorded"
        if kind in {"make", "close"}:
            today = upstream.forward(request)
            for name in _OF_THE_RUN if kind == "make" else ():
                _copy(today.make, answer.make, name)
        return answer


def _copy(source: Any, target: Any, name: str) -> None:
    value = getattr(source, name)
    if hasattr(value, "CopyFrom"):
        getattr(target, name).CopyFrom(value)
    else:
        setattr(target, name, value)


def text(exchanges: list[tuple[pb.InteractRequest, pb.InteractResponse]]) -> str:
    """Returns a file that holds the bytes of a session."""
    rows = [
        {"request": request.SerializeToString().hex(), "answer": answer.SerializeToString().hex()}
        for request, answer in exchanges
    ]
    return json.dumps(rows, indent=1) + "\n"


def load(name: str) -> list[tuple[pb.InteractRequest, pb.InteractResponse]]:
    """Returns a session of the previous version."""
    rows = json.loads((PREVIOUS / "sessions" / f"{name}.json").read_text("utf-8"))
    return [
        (
            pb.InteractRequest.FromString(bytes.fromhex(row["request"])),
            pb.InteractResponse.FromString(bytes.fromhex(row["answer"])),
        )
        for row in rows
    ]


def without_additions(new: Any, old: Any) -> Any:
    """Takes fields and capabilities out of a message that an older one does not have, all the way down."""
    for field, value in new.ListFields():
        parts = getattr(old, field.name)
        if field.name == "capabilities":
            value[:] = [name for name in value if name in parts]
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if hasattr(value, "ListFields"):
            if old.HasField(field.name):
                without_additions(value, parts)
        else:
            for one, other in zip(value, parts, strict=False):
                without_additions(one, other)
    had = {field.name for field, _ in old.ListFields()}
    for field, _ in new.ListFields():
        if field.name not in had:
            new.ClearField(field.name)
    return new
