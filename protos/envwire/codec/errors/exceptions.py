"""Encodes an environment's exceptions as faults, and decodes faults to the same classes.

Classes are looked up by name among Python's builtins, NumPy's exceptions and in the family's `error` module; nothing
that a peer names is imported.
"""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from envwire.codec.errors.faults import CodecError, FaultError, RemoteExceptionInfo
from envwire.codec.errors.reasons import Reason
from envwire.codec.family import ROOTS, Family
from envwire.codec.values.encoding import encode_values
from envwire.codec.values.foreign import type_name
from envwire.v1 import values_pb2

#: How much of a traceback is kept, in characters of its end: more than a status holds. One whose exception's text had
#: 200 MB kept the process busy for a minute.
_TRACEBACK_CHARACTERS: Final = 65536
_ERROR_MODULES: Final = frozenset(f"{root}.error" for root in ROOTS.values())
#: The other modules whose exceptions are rebuilt.
_MODULES: Final = {module.__name__: module for module in (builtins, np.exceptions, np.linalg)}
_UNREADABLE: Final = (
    "The environment raised an exception whose class, arguments or traceback cannot be read"
)
_GROUP: Final[Any] = getattr(builtins, "ExceptionGroup", ())  # since Python 3.11


def fault_from_exception(
    exc: BaseException, reason: Reason = Reason.ENVIRONMENT_RAISED
) -> FaultError:
    """Describes an exception with its class, text, arguments and traceback.

    Args:
        exc: The exception; a fault is returned unchanged.
        reason: The fault's reason.
    """
    if issubclass(type(exc), FaultError):  # `isinstance` reads `__class__`, which may raise
        return cast("FaultError", exc)
    try:
        info = _described(exc)
        lines = "".join(traceback.format_exception(exc))[-_TRACEBACK_CHARACTERS:].splitlines()
        return FaultError(reason, _message(exc, info, reason), traceback=lines, exception=info)
    except Exception:  # a class may define its name, arguments or cause so that they raise
        return FaultError(reason, _UNREADABLE)


def _described(exc: BaseException) -> RemoteExceptionInfo:
    if isinstance(exc, MemoryError):  # NumPy raises a private subclass
        text = _text(exc)
        return RemoteExceptionInfo(type_name(MemoryError), text, (text,) if text else ())
    return RemoteExceptionInfo(type_name(type(exc)), _text(exc), _sendable_args(exc))


def exception_from_fault(error: FaultError, family: Family) -> BaseException | None:
    """Builds the exception that the environment raised.

    Args:
        error: The fault.
        family: Its `error` module stands in for that of either family.

    Returns:
        An exception of the same class, text and arguments; None unless the class is an ordinary
        exception of Python, NumPy or the family.
    """
    if error.exception is None:
        return None
    kind = _find_class(error.exception.type_name, family)
    return None if kind is None else _build(kind, error.exception, family)


def _message(exc: BaseException, info: RemoteExceptionInfo, reason: Reason) -> str:
    if reason is not Reason.ENVIRONMENT_RAISED:
        return info.text
    text = f": {info.text}" if info.text else " without a text"
    return f"The environment raised {type(exc).__name__}{text}"


def _text(exc: BaseException) -> str:
    try:
        return str.__str__(str(exc))  # it may be of a subclass
    except Exception as error:  # the class's own methods may raise anything
        return f"<str raised {type(error).__name__}>"


def _sendable_args(exc: BaseException) -> tuple[Any, ...] | None:
    args: tuple[Any, ...] = exc.args
    if isinstance(exc, OSError) and exc.filename is not None and len(args) == 2:
        # Arguments of the constructor that are not kept in `args`.
        args = (*args, exc.filename, None, exc.filename2)
    try:
        if isinstance(exc, _GROUP):
            group: Any = exc
            args = (group.message, [_sendable_member(member) for member in group.exceptions])
        encode_values(args, values_pb2.ValueList())
    except (CodecError, RecursionError):
        return None
    return args


def _sendable_member(exc: Exception) -> tuple[str, list[Any]]:
    """Returns class and arguments of an exception of a group, which is sent as one of the group's arguments."""
    info = _described(exc)
    if info.args is None and isinstance(exc, _GROUP):
        raise CodecError("a group that cannot be sent", "groups of exceptions that can")
    return info.type_name, [info.text] if info.args is None else list(info.args)


def _find_class(name: str, family: Family) -> type[Exception] | None:
    """Returns an ordinary exception class by its full name, or None; SystemExit and the like do not count."""
    path, _, class_name = name.rpartition(".")
    module = family.error if path in _ERROR_MODULES else _MODULES.get(path)
    kind = vars(module).get(class_name) if module else None
    if module is None or not isinstance(kind, type) or not issubclass(kind, Exception):
        return None
    return kind if kind.__module__ == module.__name__ else None


def _build(kind: type[Exception], info: RemoteExceptionInfo, family: Family) -> Exception | None:
    if info.args is None:
        return _try(kind, info.text)
    if kind is _GROUP:
        return _try(_build_group, family, *info.args)
    # A constructor may require more than `args`; `__new__` sets `args` without calling it.
    return _try(kind, *info.args) or _try(kind.__new__, kind, *info.args)


def _build_group(family: Family, message: str, members: list[tuple[str, list[Any]]]) -> Exception:
    """Builds a group of exceptions; fails if one of them has no class here."""
    infos = [RemoteExceptionInfo(name, "", tuple(args)) for name, args in members]
    faults = [FaultError(Reason.ENVIRONMENT_RAISED, "", exception=info) for info in infos]
    group: Exception = _GROUP(message, [exception_from_fault(fault, family) for fault in faults])
    return group


def _try(make: Callable[..., Exception], *args: Any) -> Exception | None:
    try:
        return make(*args)
    except Exception:  # a constructor may raise anything
        return None
