"""Every reason that a server may give has its exception here, and every class its place in the tree."""

from __future__ import annotations

import grpc
import pytest

from envwire import client
from envwire.client import RemoteError, _errors, errors
from envwire.client._transports.grpc.grpc_connection import GrpcConnection
from envwire.codec import (
    Family,
    FaultError,
    Reason,
    RemoteExceptionInfo,
    decode_fault,
    envwire_family,
    gymnasium_family,
)
from envwire.v1 import status_pb2
from tests.reasons import REASONS

FAMILY = envwire_family()
OWN = sorted(set(Reason) - set(_errors.LIBRARY_CLASSES), key=list(Reason).index)

CLASS_OF = {Reason(name): kind for name, (_, kind) in REASONS.items() if kind is not None}


def test_no_reason_has_a_class_of_the_client_and_one_of_a_library() -> None:
    assert not set(_errors.CLASSES) & set(_errors.LIBRARY_CLASSES)


def test_the_table_above_has_every_reason() -> None:
    assert set(CLASS_OF) == set(OWN)


@pytest.mark.parametrize("reason", OWN)
def test_every_reason_has_a_class(reason: Reason) -> None:
    fault = FaultError(
        reason, "what happened", metadata={"k": "v"}, output="last words", retry_after=2.0
    )
    error = _errors.exception(fault, FAMILY)
    assert type(error) is CLASS_OF[reason]
    assert isinstance(error, RemoteError)
    assert (error.reason, error.metadata, error.retry_after) == (reason.value, {"k": "v"}, 2.0)
    assert "what happened" in str(error)
    assert "last words" in str(error)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, RemoteError)
    ]
    assert errors.__doc__
    for kind in classes:
        assert kind.__name__ in errors.__doc__
        assert kind.__name__ in client.__all__


@pytest.mark.parametrize(
    "error", [ValueError("x", 1), KeyError("k"), ZeroDivisionError(), AssertionError()]
)
def test_builtins_come_back_as_they_were(error: Exception) -> None:
    name = f"builtins.{type(error).__name__}"
    fault = FaultError(
        Reason.ENVIRONMENT_RAISED,
        str(error),
        traceback=["line 1", "line 2"],
        exception=RemoteExceptionInfo(name, str(error), error.args),
    )
    raised = _errors.exception(fault, FAMILY)
    assert type(raised) is type(error)
    assert raised.args == error.args
    assert "line 2" in str(raised.__cause__)


@pytest.mark.parametrize(
    "name",
    [
        "builtins.SystemExit",
        "builtins.KeyboardInterrupt",
        "builtins.print",
        "os.error",
        "simulator.Broken",
    ],
)
def test_other_classes_stay_remote(name: str) -> None:
    fault = FaultError(
        Reason.ENVIRONMENT_RAISED, "text", exception=RemoteExceptionInfo(name, "text", ("text",))
    )
    raised = _errors.exception(fault, FAMILY)
    assert type(raised) is errors.RemoteEnvError
    assert name in str(raised)


def test_an_exception_without_a_text_is_named_without_a_colon() -> None:
    info = RemoteExceptionInfo("simulator.Broken", "", ())
    raised = _errors.exception(FaultError(Reason.ENVIRONMENT_RAISED, "", exception=info), FAMILY)
    assert str(raised) == "simulator.Broken"


@pytest.mark.parametrize("family", [envwire_family(), gymnasium_family()], ids=lambda f: f.name)
@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("RESET_NEEDED", "ResetNeeded"),
        ("INVALID_ACTION", "InvalidAction"),
        ("UNKNOWN_ENVIRONMENT", "NameNotFound"),
    ],
)
def test_a_reason_alone_gives_the_exception_of_the_library(
    family: Family, reason: str, name: str
) -> None:
    raised = _errors.exception(decoded(9, reason), family)
    assert type(raised) is getattr(family.error, name)
    assert "what happened" in str(raised)


def test_a_missing_attribute_needs_no_more_than_its_reason() -> None:
    assert type(_errors.exception(decoded(5, "ATTRIBUTE_MISSING"), FAMILY)) is AttributeError


def test_a_reason_counts_where_the_class_is_unknown() -> None:
    named = RemoteExceptionInfo("simulator.ResetNeeded", "reset first", ("reset first",))
    fault = FaultError(Reason.RESET_NEEDED, "reset first", exception=named)
    raised = _errors.exception(fault, FAMILY)
    assert type(raised) is FAMILY.error.ResetNeeded
    assert "simulator.ResetNeeded: reset first" in str(raised)


def decoded(code: int, reason: str = "") -> FaultError:
    """What this client reads of a status that holds a code and at most a reason."""
    status = status_pb2.ErrorStatus(code=code, message="what happened")
    if reason:
        info = status_pb2.ErrorInfo(reason=reason, domain="envwire")
        status.details.add(
            type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString()
        )
    return decode_fault(status, FAMILY)


BY_CODE = {
    "UNKNOWN": errors.RemoteEnvError,
    "INVALID_ARGUMENT": errors.InvalidRequestError,
    "DEADLINE_EXCEEDED": errors.RequestTimeoutError,
    "NOT_FOUND": errors.RemoteError,
    "PERMISSION_DENIED": errors.NotAllowedError,
    "RESOURCE_EXHAUSTED": errors.CapacityError,
    "FAILED_PRECONDITION": errors.SessionError,
    "ABORTED": errors.SessionError,
    "OUT_OF_RANGE": errors.InvalidRequestError,
    "UNIMPLEMENTED": errors.InvalidRequestError,
    "INTERNAL": errors.RemoteError,
    "UNAVAILABLE": errors.ServerUnavailableError,
    "UNAUTHENTICATED": errors.UnauthenticatedError,
    "DATA_LOSS": errors.RemoteError,
}


@pytest.mark.parametrize("reason", ["", "A_REASON_OF_A_NEWER_SERVER"])
@pytest.mark.parametrize("code", BY_CODE)
def test_without_a_known_reason_the_status_code_decides(code: str, reason: str) -> None:
    number = grpc.StatusCode[code].value[0]
    raised = _errors.exception(decoded(number, reason), FAMILY)
    assert type(raised) is BY_CODE[code]
    assert "what happened" in str(raised)


class _Refusal(grpc.RpcError, grpc.Call):
    """A call that failed without details of the server's own, as one that a proxy refuses."""

    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__()
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "what happened"


@pytest.mark.parametrize(
    "code", ["PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED", "ABORTED"]
)
def test_a_call_that_fails_without_details_counts_by_its_code(code: str) -> None:
    connection = GrpcConnection.__new__(GrpcConnection)
    connection.target, connection._proxy = "127.0.0.1:1", None
    raised = connection.failure(_Refusal(grpc.StatusCode[code]), 1.0)
    assert type(raised) is BY_CODE[code]
