"""The gRPC side of a proxy: every unary method, and the stream."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

import grpc
from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, encode_fault
from envwire.conformance.outcomes import FailedError
from envwire.conformance.proxy.backend import Backend
from envwire.conformance.proxy.behaviour import CutError
from envwire.conformance.raw.grpc_links import METHODS, NOTICES_KEY, STATUS_KEY
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_PREFIX = f"/{pb.DESCRIPTOR.services_by_name['EnvironmentService'].full_name}/"
_UNARY: Any = grpc.unary_unary_rpc_method_handler
_STREAM: Any = grpc.stream_stream_rpc_method_handler
_KINDS = {f"{_PREFIX}{method}": kind for kind, method in METHODS.items()}


def malformed(text: str) -> pb.InteractResponse:
    """Returns the answer to an invalid request."""
    response = pb.InteractResponse()
    encode_fault(FaultError(Reason.MALFORMED_REQUEST, text), response.error)
    return response


class GrpcPort(grpc.GenericRpcHandler):
    """Serves a proxy's gRPC methods."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def service(self, handler_call_details: Any) -> Any:
        """Returns the handler of a method; None for an unknown method."""
        method = handler_call_details.method
        if method == f"{_PREFIX}Interact":
            return _STREAM(self._interact)
        return _UNARY(partial(self._call, _KINDS[method])) if method in _KINDS else None

    def _call(self, kind: str, raw: bytes, context: grpc.ServicerContext) -> bytes:
        request = pb.InteractRequest()
        message = getattr(request, kind)
        message.SetInParent()
        try:
            message.MergeFromString(raw)
        except DecodeError:
            context.abort(grpc.StatusCode.INTERNAL, "not a request")
        try:
            response = self._backend.behaviour.serve(request, self._backend.unary())
        except CutError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was cut")
        if response.HasField("error"):
            _abort(response.error, context)
        if response.notices:
            notices = status_pb2.NoticeList(notices=response.notices).SerializeToString()
            context.set_trailing_metadata(((NOTICES_KEY, notices),))
        answer: bytes = getattr(response, kind).SerializeToString()
        return answer

    def _interact(
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        upstream, held = self._backend.held("stream")
        try:
            for raw in requests:
                response = self._answer(raw, upstream)
                yield response.SerializeToString()
                if response.HasField("error") and not self._backend.behaviour.answers_errors:
                    _abort(response.error, context)
        except (CutError, FailedError):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was cut")
        finally:
            held.close()

    def _answer(self, raw: bytes, upstream: Any) -> pb.InteractResponse:
        try:
            request = pb.InteractRequest.FromString(raw)
        except DecodeError:
            return malformed("not an InteractRequest")
        if request.WhichOneof("request") is None:
            return malformed("a request of no kind")
        return self._backend.behaviour.serve(request, upstream)


def _abort(error: status_pb2.ErrorStatus, context: grpc.ServicerContext) -> NoReturn:
    context.set_trailing_metadata(((STATUS_KEY, error.SerializeToString()),))
    context.abort(_CODES.get(error.code, grpc.StatusCode.UNKNOWN), error.message)
