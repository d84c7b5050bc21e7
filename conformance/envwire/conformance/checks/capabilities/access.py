"""Tokens and TLS."""

from __future__ import annotations

from dataclasses import replace

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Access, Answer, Grpc, UnaryLink
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import environment_pb2 as pb

#: gRPC's status UNAVAILABLE.
_UNAVAILABLE = 14


def _asked(context: CheckContext, access: Access, request: pb.InteractRequest) -> Answer:
    channel = Grpc(access, context.trace)
    try:
        return UnaryLink(channel).exchange(request, context.seconds)
    finally:
        channel.close()


_INFO = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())


@cases({"none": "", "unknown": "0" * 32}, "ACCESS-1 ACCESS-2", profile="auth")
def a_call_needs_the_token(context: CheckContext, token: str) -> None:
    """A call without a valid token fails with UNAUTHENTICATED."""
    make = pb.InteractRequest(make=context.make_request())
    for request in (_INFO, make):
        answer = _asked(context, replace(context.access, token=token), request)
        answer.refused(Reason.UNAUTHENTICATED)


@check("ACCESS-2 SEQUENCE-8", profile="auth")
def a_secret_is_no_token(context: CheckContext) -> None:
    """A request of a session needs the token too; without it, no sequence number is used."""
    session = context.make()
    reset = session.request("reset", header=session.header)
    _asked(context, replace(context.access, token=""), reset).refused(Reason.UNAUTHENTICATED)
    session.reset(1)


@check("ACCESS-2", over=("stream",), profile="auth")
def a_stream_needs_the_token(context: CheckContext) -> None:
    """A stream without a token fails with UNAUTHENTICATED."""
    status = context.stranger_stream(replace(context.access, token="")).status()
    answer = Answer(pb.InteractResponse(error=status))
    answer.refused(Reason.UNAUTHENTICATED)


@check("ACCESS-3", profile="auth")
def an_observer_does_not_play(context: CheckContext) -> None:
    """A token of scope "observe" looks at the server, and makes nothing: SCOPE_MISSING names "play"."""
    if not context.access.observe_token:
        raise SkippedError("the configuration has no observe_token")
    observer = replace(context.access, token=context.access.observe_token)
    _asked(context, observer, _INFO).of("get_server_info")
    listing = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
    _asked(context, observer, listing).of("list_environments")
    make = pb.InteractRequest(make=context.make_request())
    refused = _asked(context, observer, make)
    info = refused.refused(Reason.SCOPE_MISSING)
    told = f"{refused.response.error.message} {info.metadata}"
    expect("play" in told, f"the scopes that would do, not {told}")


@check("LIMIT-10", profile="auth")
def health_needs_no_token(context: CheckContext) -> None:
    """The health service answers without a token."""
    channel = Grpc(replace(context.access, token=""), context.trace)
    answer = channel.call("Check", b"", context.seconds, "grpc.health.v1.Health")
    channel.close()
    expect_equal(answer, b"\x08\x01", "the answer, SERVING")


@check("ACCESS-1 BOUND-7", profile="tls")
def plain_text_is_refused(context: CheckContext) -> None:
    """A client without TLS gets no answer."""
    answer = _asked(context, replace(context.access, ca="", cert="", key=""), _INFO)
    expect_equal(answer.response.error.code, _UNAVAILABLE, "the status code")


@check("BOUND-7", over=("direct",), profile="tls")
def the_direct_port_speaks_tls(context: CheckContext) -> None:
    """The direct TCP port uses TLS from the first byte, with the same certificates."""
    session = context.start()
    plain = context.connect(session.made, plain=True)
    plain.send_bytes(b"envwire\x01" + bytes(16))
    expect(not plain.answers_in_frames(), "no frame in plain text")
    session.step(1)


@check("BOUND-8", over=("direct",), profile="tls")
def the_unix_socket_is_plain(context: CheckContext) -> None:
    """A Unix socket uses no TLS: a plain hello is accepted there."""
    session = context.make()
    addresses = session.made.direct.addresses
    unix = next((one for one in addresses if one.startswith("unix-abstract:")), None)
    if unix is None:
        raise SkippedError("the session has no Unix socket")
    answer = context.connect(session.made, unix).hello(session.header)
    expect(answer.HasField("welcome"), "a welcome in plain text")
