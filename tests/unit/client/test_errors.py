"""Every reason that a server may give has its exception here, and every class its place in the tree."""

from __future__ import annotations

import pytest

from envwire.client import RemoteError, errors
from envwire.codec import FaultError, Reason, RemoteExceptionInfo, envwire_family

FAMILY = envwire_family()


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_class(reason: Reason) -> None:
    fault = FaultError(
        reason, "what happened", metadata={"k": "v"}, output="last words", retry_after=2.0
    )
    error = errors.exception(fault, FAMILY)
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
    raised = errors.exception(fault, FAMILY)
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
    raised = errors.exception(fault, FAMILY)
    assert type(raised) is errors.RemoteEnvError
    assert name in str(raised)
