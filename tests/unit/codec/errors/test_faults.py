"""Faults survive the wire in both directions, and google's own classes read them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2
from google.rpc import status_pb2 as google_status_pb2
from grpc_status import rpc_status

from envwire.codec import (
    FaultError,
    Reason,
    RemoteExceptionInfo,
    decode_fault,
    encode_fault,
    envwire_family,
)
from envwire.codec.errors.statuses import decode_warnings, fit_trailers
from envwire.v1 import status_pb2
from tests.reasons import REASONS

FULL = FaultError(
    Reason.SESSION_LOST,
    "The session's process was killed. Make the environment again.",
    metadata={"session_id": "s-1", "exit_status": "-9"},
    output="step 41\nstep 42\n",
    traceback=("Traceback:", '  File "env.py", line 3', "ValueError: ü"),
    retry_after=2.25,
    exception=RemoteExceptionInfo("builtins.ValueError", "ü", ("ü", 3, (1.5, None))),
)


def sent(error: FaultError) -> FaultError:
    status = status_pb2.ErrorStatus()
    encode_fault(error, status)
    parsed = status_pb2.ErrorStatus.FromString(status.SerializeToString())
    return decode_fault(parsed, envwire_family())


def fields(error: FaultError) -> dict[str, Any]:
    return {**vars(error), "args": error.args}


def test_each_reason_has_a_status_code() -> None:
    assert all(reason.name == reason.value == str.__str__(reason) for reason in Reason)
    assert {reason.value for reason in Reason} == set(REASONS)
    for reason, (name, _) in REASONS.items():
        code = code_pb2.Code.Value(name)
        assert Reason(reason).code == code
        assert getattr(grpc.StatusCode, name).value[0] == code


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_arrives(reason: Reason) -> None:
    arrived = sent(FaultError(reason, "What to do."))
    assert (arrived.reason, arrived.code, str(arrived)) == (
        reason,
        reason.code,
        "What to do.",
    )
    assert fields(arrived) == fields(FaultError(reason, "What to do."))


def test_all_fields_arrive() -> None:
    assert fields(sent(FULL)) == fields(FULL)
    assert fields(sent(FaultError(Reason.INTERNAL, "m", code=2))) == fields(
        FaultError(Reason.INTERNAL, "m", code=2)
    )


def test_faults_can_be_copied() -> None:
    copied = pickle.loads(pickle.dumps(FULL))
    assert (str(copied), fields(copied)) == (FULL.message, fields(FULL))


def test_google_classes_read_them() -> None:
    status = status_pb2.ErrorStatus()
    encode_fault(FULL, status)
    theirs = google_status_pb2.Status.FromString(status.SerializeToString())
    assert (theirs.code, theirs.message) == (code_pb2.ABORTED, FULL.message)
    kinds = [
        error_details_pb2.ErrorInfo(),
        error_details_pb2.DebugInfo(),
        error_details_pb2.RetryInfo(),
    ]
    for kind, packed in zip(kinds, theirs.details, strict=False):
        assert packed.Unpack(kind)
    info, debug, retry = kinds
    assert (info.reason, info.domain) == ("SESSION_LOST", "envwire")
    assert dict(info.metadata) == FULL.metadata
    assert tuple(debug.stack_entries) == FULL.traceback
    assert debug.detail == FULL.output
    assert retry.retry_delay.ToTimedelta().total_seconds() == 2.25
    assert theirs.details[3].type_url == "type.googleapis.com/envwire.v1.RemoteException"
    assert rpc_status.to_status(theirs).code is grpc.StatusCode.ABORTED


def test_what_google_classes_write_is_read() -> None:
    theirs = google_status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="Full.")
    details = [
        error_details_pb2.Help(),
        error_details_pb2.ErrorInfo(reason="CAPACITY_REACHED", domain="envwire"),
        error_details_pb2.RetryInfo(),
    ]
    for detail in details:
        theirs.details.add().Pack(detail)
    ours = status_pb2.ErrorStatus.FromString(theirs.SerializeToString())
    arrived = decode_fault(ours, envwire_family())
    assert fields(arrived) == fields(FaultError(Reason.CAPACITY_REACHED, "Full.", retry_after=0.0))


@pytest.mark.parametrize(
    ("reason", "domain"), [("CAPACITY_REACHED", "other.org"), ("OF_TOMORROW", "envwire"), ("", "")]
)
def test_foreign_reasons_keep_their_code(reason: str, domain: str) -> None:
    status = status_pb2.ErrorStatus(code=code_pb2.UNAVAILABLE, message="Gone.")
    if reason:
        info = error_details_pb2.ErrorInfo(reason=reason, domain=domain)
        status.details.add().Pack(info)
    arrived = decode_fault(status, envwire_family())
    assert (arrived.reason, arrived.code) == (Reason.INTERNAL, code_pb2.UNAVAILABLE)


def test_broken_details_are_passed_over() -> None:
    status = status_pb2.ErrorStatus()
    encode_fault(FULL, status)
    for detail in status.details:
        detail.value = b"\xff" + detail.value
    status.details.append(any_pb2.Any(type_url="type.googleapis.com/unknown", value=b"\xff"))
    arrived = decode_fault(status, envwire_family())
    assert fields(arrived) == fields(FaultError(Reason.INTERNAL, FULL.message, code=FULL.code))


def test_broken_arguments_leave_the_rest() -> None:
    status = status_pb2.ErrorStatus()
    encode_fault(FULL, status)
    remote = status_pb2.RemoteException.FromString(status.details[3].value)
    remote.args.values.add()
    status.details[3].value = remote.SerializeToString()
    arrived = decode_fault(status, envwire_family())
    assert arrived.exception == RemoteExceptionInfo("builtins.ValueError", "ü", None)


def in_trailers(error: FaultError) -> FaultError:
    status = status_pb2.ErrorStatus()
    encode_fault(error, status)
    fit_trailers(status)
    assert status.ByteSize() < 6144
    return decode_fault(status, envwire_family())


@pytest.mark.parametrize("arrive", [sent, in_trailers])
def test_as_many_warnings_arrive_as_fit(arrive: Callable[[FaultError], FaultError]) -> None:
    error = FaultError(Reason.ENVIRONMENT_RAISED, "text", traceback=["last line"])
    error.warnings = tuple((DeprecationWarning, f"{n}: {'ü' * 50}") for n in range(1000))
    arrived = arrive(error)
    assert arrived.warnings == error.warnings[: len(arrived.warnings)]
    assert 2 <= len(arrived.warnings) <= 50
    assert arrived.traceback == error.traceback


@pytest.mark.parametrize(
    ("category", "arrived"),
    [("DeprecationWarning", DeprecationWarning), ("int", UserWarning), ("Own", UserWarning)],
)
def test_a_category_that_is_no_builtin_warning_is_a_usual_one(
    category: str, arrived: type[Warning]
) -> None:
    assert decode_warnings([status_pb2.Warning(category=category, text="x")]) == [(arrived, "x")]


@pytest.mark.parametrize("letter", ["a", "ü", "漢", "\ud800", "\n"])
@pytest.mark.parametrize("arrive", [sent, in_trailers])
def test_long_faults_are_cut(arrive: Callable[[FaultError], FaultError], letter: str) -> None:
    long = letter * 20_000
    error = FaultError(
        Reason.ENVIRONMENT_RAISED,
        long,
        metadata={f"{letter}{number}": long for number in range(50)},
        output=f"{long}last words",
        traceback=[*([long] * 50), *(f"line {number}" for number in range(9))],
        retry_after=1.0,
        exception=RemoteExceptionInfo(long, long, (long,)),
    )
    status = status_pb2.ErrorStatus()
    encode_fault(error, status)
    assert status.ByteSize() < 33 * 1024
    arrived = arrive(error)
    assert arrived.message.endswith("...")
    assert arrived.output.startswith("...")
    assert arrived.output.endswith("last words")
    assert arrived.traceback[0].startswith("...")
    assert arrived.traceback[-9:] == tuple(f"line {number}" for number in range(9))
    assert arrived.exception is not None
    assert arrived.exception.args is None
    assert arrived.metadata


def test_only_trailers_cut_a_text_of_8000_bytes() -> None:
    text = 8000 * "a"
    error = FaultError(
        Reason.ENVIRONMENT_RAISED,
        text,
        exception=RemoteExceptionInfo("builtins.ValueError", text, (text,)),
    )
    assert fields(sent(error)) == fields(error)
    arrived = in_trailers(error)
    cut = 597 * "a" + "..."
    assert arrived.message == cut
    assert arrived.exception == RemoteExceptionInfo("builtins.ValueError", cut, None)


def test_trailers_leave_short_faults_as_they_are() -> None:
    assert fields(in_trailers(FULL)) == fields(FULL)


def test_a_short_traceback_leaves_room_for_output() -> None:
    arrived = in_trailers(
        FaultError(Reason.STEP_TIMEOUT, "m", output="o" * 9000, traceback=["one", "two"])
    )
    assert arrived.traceback == ("one", "two")
    assert len(arrived.output) > 4000
