"""Exceptions arrive as those a local environment would raise, and never as anything worse."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.codec import (
    Family,
    FaultError,
    Reason,
    RemoteExceptionInfo,
    decode_fault,
    encode_fault,
    envwire_family,
    exception_from_fault,
    fault_from_exception,
    gymnasium_family,
)
from envwire.testing.comparing import identical
from envwire.v1 import status_pb2


def caught(act: Callable[[], object]) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raised(error: BaseException) -> BaseException:
    def act() -> None:
        raise error

    return caught(act)


def sent(error: BaseException, family: Family | None = None) -> BaseException | None:
    status = status_pb2.ErrorStatus()
    encode_fault(fault_from_exception(error), status)
    family = family or envwire_family()
    return exception_from_fault(decode_fault(status, family), family)


BUILTIN = [
    lambda: 1 / 0,
    lambda: {}["missing"],
    lambda: list(range(2))[3],
    b"\xff".decode,
    lambda: open("/no/such/file"),  # noqa: SIM115
    lambda: int("x"),
    lambda: None.missing,
    lambda: next(iter(())),
    lambda: compile("(", "file.py", "exec"),
    lambda: len(3),
    lambda: (_ for _ in ()).throw(OSError(18, "Not here", "a", None, "b")),
    lambda: (_ for _ in ()).throw(ValueError()),
    lambda: (_ for _ in ()).throw(ValueError("a", 1, (2.5, None))),
    lambda: (_ for _ in ()).throw(NotImplementedError("not yet")),
    lambda: (_ for _ in ()).throw(UserWarning("as an error")),
    lambda: (_ for _ in ()).throw(MemoryError()),
    lambda: np.linalg.inv(np.zeros((2, 2))),
    lambda: np.zeros(2).sum(axis=3),
]


@pytest.mark.parametrize("act", BUILTIN)
def test_exceptions_of_python(act: Callable[[], object]) -> None:
    local = caught(act)
    remote = sent(local)
    assert type(remote) is type(local)
    assert str(remote) == str(local)
    assert remote is not None
    assert identical(remote.args, local.args)


class OwnError(ValueError):
    """Unknown on the other side."""


ExceptionGroup: Any = getattr(builtins, "ExceptionGroup", None)
has_groups = pytest.mark.skipif(ExceptionGroup is None, reason="needs Python 3.11")


@has_groups
def test_exception_groups() -> None:
    inner = ExceptionGroup("inner", [np.linalg.LinAlgError("singular")])
    local = ExceptionGroup("outer", [ValueError("a", 1), KeyError("k"), OSError(2, "no"), inner])
    remote: Any = sent(local)
    assert type(remote) is ExceptionGroup
    assert (str(remote), repr(remote)) == (str(local), repr(local))
    assert [type(e) for e in remote.exceptions] == [type(e) for e in local.exceptions]
    assert sent(ExceptionGroup("with a class of its own", [OwnError("x")])) is None


@has_groups
@pytest.mark.parametrize(
    "more", range(50, 60)
)  # how often a list may be nested is no multiple of all
def test_a_group_nested_deeper_than_can_be_sent(more: int) -> None:
    error: Any = ValueError()
    for _ in range(more):
        error = ExceptionGroup("deep", [error])
    info = fault_from_exception(error).exception
    assert info is not None
    assert info.args is None


@has_groups
def test_a_group_nested_deeper_than_python_recurses() -> None:
    error: Any = ValueError()
    for _ in range(2 * sys.getrecursionlimit()):
        error = ExceptionGroup("deep", [error])
    info = fault_from_exception(error).exception
    assert info is not None
    assert info.args is None


@pytest.mark.parametrize("family", [envwire_family(), gymnasium_family()], ids=lambda f: f.name)
@pytest.mark.parametrize("source", [envwire.envs.error, gymnasium.error], ids=lambda m: m.__name__)
def test_exceptions_of_the_families_cross(source: Any, family: Family) -> None:
    for name in ("ResetNeeded", "InvalidAction", "Error", "NameNotFound", "ClosedEnvironmentError"):
        remote = sent(getattr(source, name)("What to do.", 3), family)
        assert type(remote) is getattr(family.error, name)
        assert remote.args == ("What to do.", 3)
    pending = raised(source.AlreadyPendingCallError("Wait first.", "step"))
    remote = sent(pending, family)  # its constructor wants what is not among its arguments
    assert type(remote) is family.error.AlreadyPendingCallError
    assert (str(remote), remote.args) == (str(pending), pending.args)


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "error",
    [
        OwnError("x"),
        MuteError(),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        subprocess.TimeoutExpired("cmd", 1),
        FaultError(Reason.INTERNAL, "x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_exceptions_are_not_rebuilt(error: BaseException) -> None:
    assert sent(raised(error)) is None


@pytest.mark.parametrize(
    "name",
    [
        "builtins.SystemExit",
        "builtins.BaseException",
        "builtins.print",
        "builtins.int",
        "builtins.__import__",
        "builtins.__build_class__",
        "builtins.Missing",
        "builtins",
        "ValueError",
        "",
        "os.system",
        "gymnasium.error.annotations",
        "gymnasium.error.__builtins__",
        "gymnasium.error.ValueError",
        "gymnasium.logger.warn",
        "envwire.envs.error.sub.Error",
        "io.UnsupportedOperation",
        "numpy.linalg.inv",
        "numpy.exceptions.Exception",
        "numpy.AxisError",
    ],
)
def test_names_lead_only_to_listed_classes(name: str) -> None:
    info = RemoteExceptionInfo(name, "text", ("a",))
    error = FaultError(Reason.ENVIRONMENT_RAISED, "m", exception=info)
    assert exception_from_fault(error, gymnasium_family()) is None


def test_an_object_among_the_arguments_costs_only_the_arguments() -> None:
    remote = sent(raised(ValueError("bad", object)))
    assert type(remote) is ValueError
    assert str(remote) == str(ValueError("bad", object))
    assert sent(raised(UnicodeDecodeError("utf-8", b"\xff" * 9000, 0, 1, "bad"))) is None


def test_arguments_that_no_constructor_takes() -> None:
    for name, args in [
        ("UnicodeDecodeError", ("a", 1)),
        ("OSError", ()),
        ("ValueError", ("a",) * 99),
    ]:
        info = RemoteExceptionInfo(f"builtins.{name}", "text", args)
        error = FaultError(Reason.ENVIRONMENT_RAISED, "m", exception=info)
        built = exception_from_fault(error, envwire_family())
        assert type(built).__name__ == name
        assert built.args == args
    info = RemoteExceptionInfo("builtins.ExceptionGroup", "text", ("m", [1]))
    error = FaultError(Reason.ENVIRONMENT_RAISED, "m", exception=info)
    assert exception_from_fault(error, envwire_family()) is None


def test_the_fault_describes_the_exception() -> None:
    def fail() -> None:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise OwnError("outer") from inner

    error = fault_from_exception(caught(fail))
    assert error.reason is Reason.ENVIRONMENT_RAISED
    assert error.message == "The environment raised OwnError: outer"
    assert error.exception == RemoteExceptionInfo(f"{__name__}.OwnError", "outer", ("outer",))
    assert error.traceback[0] == "Traceback (most recent call last):"
    assert "KeyError: 'inner'" in error.traceback
    assert error.traceback[-1].endswith("OwnError: outer")
    assert not any("\n" in line for line in error.traceback)


def test_the_reason_may_be_another() -> None:
    error = fault_from_exception(ValueError("Wrong shape."), Reason.INVALID_ACTION)
    assert (error.reason, error.message) == (Reason.INVALID_ACTION, "Wrong shape.")
    assert fault_from_exception(error) is error
    assert fault_from_exception(KeyError()).message.endswith("raised KeyError without a text")
    assert fault_from_exception(MuteError()).message.endswith("<str raised RuntimeError>")
    assert exception_from_fault(FaultError(Reason.DRAINING, "m"), envwire_family()) is None


class _Unreadable(Exception):
    @property
    def args(self) -> tuple[object, ...]:  # type: ignore[override]
        raise RuntimeError("args")


class _Unprintable(Exception):
    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise RuntimeError("cause")


class _ClassRaises(Exception):
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("class")


@pytest.mark.parametrize("kind", [_Unreadable, _Unprintable, _ClassRaises])
def test_an_exception_whose_attributes_raise_is_a_fault(kind: type[Exception]) -> None:
    fault = fault_from_exception(kind())
    assert fault.reason is Reason.ENVIRONMENT_RAISED
    assert "cannot be read" in fault.message


class _OddText(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise RuntimeError("encode")


class _OddlyTold(Exception):
    def __str__(self) -> str:
        return _OddText("odd")


def test_a_text_of_a_subclass_of_str_is_sent() -> None:
    fault = fault_from_exception(_OddlyTold())
    encode_fault(fault, status := status_pb2.ErrorStatus())
    assert "odd" in status.message


def test_the_end_of_a_long_traceback_is_kept() -> None:
    fault = fault_from_exception(raised(ValueError("x" * 10_000_000 + "end")))
    assert sum(map(len, fault.traceback)) < 100_000
    assert fault.traceback[-1].endswith("xend")
