"""Servers that do not check the owner of a request, its lease, or the number of Makes."""

from __future__ import annotations

from typing import Any

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import body, caught_by, reason


class Remembering(Behaviour):
    """Knows the secrets of the sessions that were made, and the last session."""

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}
        self.latest = ""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        if "header" in message.DESCRIPTOR.fields_by_name:
            self.amend(message)
        response = upstream.forward(request)
        if response.HasField("make"):
            self.latest = response.make.session_id
            self.secrets[self.latest] = response.make.secret
        return response

    def amend(self, message: Any) -> None:
        """Changes the header of a request."""
        raise NotImplementedError


@caught_by(
    "secrets.a-wrong-secret-is-refused/zeros[unary]",
    "secrets.every-method-asks-for-the-secret/close[unary]",
    "secrets.another-sessions-secret-is-wrong[stream]",
)
class AnySecretIsTaken(Remembering):
    def amend(self, message: Any) -> None:
        secret = self.secrets.get(message.header.session_id)
        if secret is not None:
            message.header.secret = secret


@caught_by(
    "secrets.a-wrong-secret-is-refused/last-bit[unary]",
    "secrets.a-wrong-secret-is-refused/short[unary]",
)
class SecretIsComparedInPart(Remembering):
    def amend(self, message: Any) -> None:
        secret = self.secrets.get(message.header.session_id)
        if secret is not None and message.header.secret[:8] == secret[:8]:
            message.header.secret = secret


@caught_by("secrets.a-wrong-secret-is-refused/empty[unary]")
class EmptySecretIsTaken(Remembering):
    def amend(self, message: Any) -> None:
        if not message.header.secret:
            message.header.secret = self.secrets.get(message.header.session_id, b"")


@caught_by(
    "secrets.a-request-without-header-is-refused/absent[unary]",
    "secrets.an-unknown-session-is-refused/random[unary]",
)
class UnknownSessionIsTheLatest(Remembering):
    def amend(self, message: Any) -> None:
        if message.header.session_id not in self.secrets:
            message.header.session_id = self.latest
            message.header.secret = self.secrets.get(self.latest, b"")


@caught_by("leases.a-lease-runs-out[unary]")
class LeaseIsIgnored(Behaviour):
    """Reports the requested lease, and grants the longest one."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        asked = request.make.lease.ToTimedelta() if request.make.HasField("lease") else None
        if asked is not None:
            request.make.lease.FromSeconds(3600)
        response = upstream.forward(request)
        if asked is not None and response.HasField("make"):
            response.make.lease.FromTimedelta(asked)
        return response


@caught_by(
    "leases.without-one-the-default-is-granted/negative[unary]",
    "leases.the-longest-lease-is-max-lease[unary]",
)
class LeaseIsNotBounded(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if request.make.HasField("lease") and response.HasField("make"):
            response.make.lease.CopyFrom(request.make.lease)
        return response


@caught_by("leases.a-lease-is-renewed[unary]")
class LeaseIsNotRenewed(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("renew_lease"):
            response = pb.InteractResponse()
            response.renew_lease.lease.FromSeconds(1)
            return response
        return upstream.forward(request)


@caught_by(
    "leases.an-open-channel-keeps-its-session[stream]",
    "leases.an-open-channel-keeps-its-session[direct]",
)
class OpenChannelKeepsNothing(Behaviour):
    holds_sessions = False


@caught_by(
    "makes.a-repeated-make-gets-the-same-answer[unary]", "makes.makes-side-by-side-join[unary]"
)
class RequestIdIsIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("make"):
            request.make.request_id = b""
        return upstream.forward(request)


@caught_by(
    "makes.a-request-id-belongs-to-one-make[unary]", "makes.a-failed-make-is-not-kept[unary]"
)
class RequestIdAloneIsLookedAt(Behaviour):
    """Keeps failures, and does not compare requests."""

    def __init__(self) -> None:
        self.kept: dict[bytes, pb.InteractResponse] = {}

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        name = request.make.request_id
        if not name:
            return upstream.forward(request)
        if name not in self.kept:
            self.kept[name] = upstream.forward(request)
        return self.kept[name]


@caught_by(
    "closing.close-ends-a-session[unary]", "closing.an-ended-session-tells-its-reason/reset[unary]"
)
class CloseClosesNothing(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if not request.HasField("close"):
            return upstream.forward(request)
        response = pb.InteractResponse()
        response.close.SetInParent()
        return response


@caught_by("closing.closing-twice-is-harmless[unary]")
class SecondCloseFails(Behaviour):
    def __init__(self) -> None:
        self.closed: set[str] = set()

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("close") and request.close.header.session_id in self.closed:
            request.close.header.session_id = "0" * 32
        response = upstream.forward(request)
        if response.HasField("close"):
            self.closed.add(request.close.header.session_id)
        return response


@caught_by("closing.close-ends-a-session-despite-a-gap[unary]")
class CloseMindsItsNumber(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("close") and request.close.sequence == 99:  # that of the check
            request.ClearField("close")
            request.renew_lease.SetInParent()
        return upstream.forward(request)


@caught_by("makes.what-is-unknown-is-refused/id[unary]")
class UnknownIdIsAnother(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if reason(response) == "UNKNOWN_ENVIRONMENT":
            request.make.env_id = "Conformance/Counter-v0"
            return upstream.forward(request)
        return response


@caught_by("makes.the-render-mode-is-as-asked/ansi[unary]")
class RenderModeIsIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        request.make.ClearField("render_mode") if request.HasField("make") else None
        return upstream.forward(request)


@caught_by("makes.kwargs-reach-the-environment[unary]")
class KwargsAreIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        request.make.ClearField("kwargs") if request.HasField("make") else None
        return upstream.forward(request)


@caught_by("vector_members.wrappers-go-around-each-member[unary]")
class WrappersOfMembersAreIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("make") and request.make.HasField("vector"):
            request.make.ClearField("wrappers")
        return upstream.forward(request)


@caught_by("closing.the-end-of-a-session-is-known-on-every-link[stream]")
class StreamsKeepSessions(Behaviour):
    """Continues a session on the stream that used it, regardless of its state."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if upstream.link == "stream" and reason(response) == "SESSION_CLOSED":
            return pb.InteractResponse(reset=pb.ResetResponse())
        return response
