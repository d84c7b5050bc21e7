"""Encodes faults as google.rpc.Status, cut to fit into an answer or the trailers of a gRPC call; and notices."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from envwire.codec.errors.faults import CodecError, FaultError, RemoteExceptionInfo
from envwire.codec.errors.reasons import Reason
from envwire.codec.family import Family
from envwire.codec.messages import to_duration, to_seconds
from envwire.codec.values.encoding import decode_values, encode_values
from envwire.codec.values.foreign import printable
from envwire.v1 import status_pb2

_CATEGORIES: Final[dict[str, type[Warning]]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Warning)
}


def encode_warnings(warnings: Iterable[tuple[type[Warning], str]]) -> list[status_pb2.Warning]:
    """Writes pairs of category and text, each under the nearest builtin category."""
    return [
        status_pb2.Warning(category=_builtin_name(category), text=printable(text))
        for category, text in warnings
    ]


def decode_warnings(messages: Iterable[status_pb2.Warning]) -> list[tuple[type[Warning], str]]:
    """Reads pairs of category and text; unknown categories become UserWarning."""
    return [(_CATEGORIES.get(m.category, UserWarning), m.text) for m in messages]


def _builtin_name(category: type[Warning]) -> str:
    return next(kind.__name__ for kind in category.__mro__ if kind in _CATEGORIES.values())


DOMAIN: Final = "envwire"
"""The domain of all reasons in google.rpc.ErrorInfo."""

_URLS: Final[dict[type[Message], str]] = {
    status_pb2.ErrorInfo: "type.googleapis.com/google.rpc.ErrorInfo",
    status_pb2.DebugInfo: "type.googleapis.com/google.rpc.DebugInfo",
    status_pb2.RetryInfo: "type.googleapis.com/google.rpc.RetryInfo",
    status_pb2.RemoteException: "type.googleapis.com/envwire.v1.RemoteException",
    status_pb2.Warning: "type.googleapis.com/envwire.v1.Warning",
}


class _Room(NamedTuple):
    """Most bytes of a status, and of each part: a text, an exception's arguments, all warnings."""

    status: int
    part: int


#: Clients bound the first answer on a direct channel to 64 KiB.
_ANSWER: Final = _Room(status=32 * 1024, part=8 * 1024)
#: Several gRPC libraries accept 8 KiB of trailers; a status is sent there in base64 (4/3), and its message a second
#: time in percent encoding (up to 3).
_TRAILERS: Final = _Room(status=4608, part=600)
# Also in bytes.
_LARGEST_LINE: Final = 600
_LARGEST_NAME: Final = 200
_LARGEST_METADATA: Final = 600
_OVERHEAD: Final = 80  # of packing one more detail
_LINE_OVERHEAD: Final = 4

_CUT: Final = "..."


def encode_fault(error: FaultError, status: status_pb2.ErrorStatus) -> None:
    """Writes a fault, cut to 32 KiB: tracebacks lose their top, the output its beginning.

    Args:
        error: The fault.
        status: Filled in place.
    """
    status.code = error.code
    details: list[Message] = [_error_info(error)]
    if error.traceback or error.output:
        lines = map(printable, error.traceback)
        details.append(status_pb2.DebugInfo(stack_entries=lines, detail=printable(error.output)))
    if error.retry_after is not None:
        details.append(status_pb2.RetryInfo(retry_delay=to_duration(error.retry_after)))
    if error.exception is not None:
        details.append(_remote_exception(error.exception))
    details.extend(encode_warnings(error.warnings))
    _fill(status, error.message, details, _ANSWER)


def fit_trailers(status: status_pb2.ErrorStatus) -> None:
    """Cuts a status to what fits into the trailers of a gRPC call: texts to 600 bytes, 4.5 KiB in all."""
    if status.ByteSize() > _TRAILERS.part:
        found = [detail for kind in _URLS for detail in _details(status, kind)]
        _fill(status, status.message, found, _TRAILERS)


def decode_fault(status: status_pb2.ErrorStatus, family: Family) -> FaultError:
    """Reads a fault; unknown or broken details are ignored.

    Args:
        status: The message.
        family: Classes to build an exception's arguments of.

    Returns:
        The fault; if its reason is not in the table, INTERNAL with the code that was sent.
    """
    info = _detail(status, status_pb2.ErrorInfo)
    debug = _detail(status, status_pb2.DebugInfo)
    retry = _detail(status, status_pb2.RetryInfo)
    remote = _detail(status, status_pb2.RemoteException)
    fault = FaultError(
        reason_of(status),
        status.message,
        metadata=dict(info.metadata) if info else {},
        output=debug.detail if debug else "",
        traceback=tuple(debug.stack_entries) if debug else (),
        retry_after=to_seconds(retry.retry_delay) if retry else None,
        exception=_exception_info(remote, family) if remote else None,
        code=status.code,
    )
    fault.warnings = tuple(decode_warnings(_details(status, status_pb2.Warning)))
    return fault


def reason_of(status: status_pb2.ErrorStatus) -> Reason:
    """Returns why a request failed; INTERNAL if the reason is not in the table."""
    info = _detail(status, status_pb2.ErrorInfo)
    if info is None or info.domain != DOMAIN:
        return Reason.INTERNAL
    return Reason.__members__.get(info.reason, Reason.INTERNAL)  # a newer server has more


def _error_info(error: FaultError) -> status_pb2.ErrorInfo:
    info = status_pb2.ErrorInfo(reason=error.reason.value, domain=DOMAIN)
    for name, fact in error.metadata.items():
        key = _head(name, _LARGEST_NAME)
        info.metadata[key] = _head(fact, _LARGEST_NAME)
        if info.ByteSize() > _LARGEST_METADATA:
            del info.metadata[key]
    return info


def _fill(
    status: status_pb2.ErrorStatus, text: str, details: Sequence[Message], room: _Room
) -> None:
    """Writes a message and details, cut to a size: what others leave is for the traceback and the output."""
    status.message = _head(text, room.part)
    del status.details[:]
    details = _fitting(details, room.part)
    left = room.status - status.ByteSize() - _OVERHEAD * len(details)
    for detail in details:
        if isinstance(detail, status_pb2.RemoteException):
            detail.text = _head(detail.text, room.part)
            if detail.args.ByteSize() > room.part:
                detail.ClearField("args")
        if not isinstance(detail, status_pb2.DebugInfo):
            left -= detail.ByteSize()
    for detail in details:
        if isinstance(detail, status_pb2.DebugInfo):
            _cut_debug_info(detail, left)
        status.details.add(type_url=_URLS[type(detail)], value=detail.SerializeToString())


def _fitting(details: Sequence[Message], size: int) -> list[Message]:
    """Leaves out the warnings after those that fit into a size."""
    kept: list[Message] = []
    for detail in details:
        if isinstance(detail, status_pb2.Warning):
            size -= detail.ByteSize() + _OVERHEAD
        if size >= 0 or not isinstance(detail, status_pb2.Warning):
            kept.append(detail)
    return kept


def _cut_debug_info(info: status_pb2.DebugInfo, size: int) -> None:
    """Divides the size between output and traceback; what one does not need goes to the other."""
    wanted = len(info.detail.encode())
    lines = _last_lines(info.stack_entries, max(size // 2, size - wanted))
    info.stack_entries[:] = lines
    used = sum(len(line.encode()) + _LINE_OVERHEAD for line in lines)
    info.detail = _tail(info.detail, size - used)


def _remote_exception(info: RemoteExceptionInfo) -> status_pb2.RemoteException:
    message = status_pb2.RemoteException(
        type_name=_head(info.type_name, _LARGEST_NAME), text=printable(info.text)
    )
    if info.args is not None:
        message.args.SetInParent()
        try:
            encode_values(info.args, message.args, "exception.args")
        except CodecError:
            message.ClearField("args")
    return message


def _exception_info(message: status_pb2.RemoteException, family: Family) -> RemoteExceptionInfo:
    args: tuple[Any, ...] | None = None
    if message.HasField("args"):
        with contextlib.suppress(CodecError):
            args = tuple(decode_values(message.args, family, "exception.args"))
    return RemoteExceptionInfo(message.type_name, message.text, args)


_Detail = TypeVar("_Detail", bound=Message)


def _detail(status: status_pb2.ErrorStatus, kind: type[_Detail]) -> _Detail | None:
    return next(_details(status, kind), None)


def _details(status: status_pb2.ErrorStatus, kind: type[_Detail]) -> Iterator[_Detail]:
    for packed in status.details:
        if packed.type_url == _URLS[kind]:
            with contextlib.suppress(DecodeError):
                yield kind.FromString(packed.value)


def _head(text: str, size: int) -> str:
    data = printable(text).encode()
    if len(data) <= size:
        return data.decode()
    return data[: size - len(_CUT)].decode(errors="ignore") + _CUT


def _tail(text: str, size: int) -> str:
    data = printable(text).encode()
    if len(data) <= size:
        return data.decode()
    return _CUT + data[len(data) - max(size - len(_CUT), 0) :].decode(errors="ignore")


def _last_lines(lines: Sequence[str], size: int) -> list[str]:
    kept: list[str] = []
    for line in reversed(lines):
        text = _tail(line, _LARGEST_LINE)
        size -= len(text.encode()) + _LINE_OVERHEAD
        if size < len(_CUT) + _LINE_OVERHEAD:
            kept.append(_CUT)
            break
        kept.append(text)
    return kept[::-1]


TRAILER: Final = "envwire-notices-bin"
"""The trailing metadata of unary calls that holds a NoticeList."""


def draining_notice(seconds: float) -> status_pb2.Notice:
    """Returns the notice that the server is about to stop, with the seconds left."""
    kind = status_pb2.Notice.KIND_DRAINING
    return status_pb2.Notice(kind=kind, time_left=to_duration(max(0.0, seconds)))
