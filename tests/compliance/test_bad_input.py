"""Bad input gets the documented status and message, and leaves the server and the session working."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from envwire.client import (
    InvalidRequestError,
    NotAllowedError,
    RemoteEnv,
    RemoteVectorEnv,
    ServerUnavailableError,
    SessionClosedError,
    SessionLostError,
)
from envwire.client._session.attribute_operations import CallMethod, GetAttribute
from envwire.client._transports.by_name import open_transport
from envwire.codec import decode_fault, encode_value, envwire_family
from envwire.server import Server, ServerError
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.secured import Guard

PREFIX = "/envwire.v1.EnvironmentService/"
ROOT = str(Path(__file__).parent.parent.parent)


@pytest.fixture
def env(server: Server, transport: str) -> Iterator[RemoteEnv]:
    assert transport
    made = RemoteEnv(server.target, "CartPole-v1")
    made.reset(seed=0)
    yield made
    assert made.reset(seed=0)[0].shape == (4,), "the session still works"
    made.close()


def refused(channel: grpc.Channel, method: str, message: bytes) -> tuple[str, str]:
    """Returns status and reason of a unary call, as Google's own classes read them."""
    with pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary(PREFIX + method)(message, timeout=10)
    status = rpc_status.from_call(raised.value)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "envwire"
    assert status.message
    return raised.value.code().name, info.reason


def made(channel: grpc.Channel) -> pb.MakeResponse:
    message = pb.MakeRequest(env_id="CartPole-v1").SerializeToString()
    return pb.MakeResponse.FromString(channel.unary_unary(PREFIX + "Make")(message, timeout=10))


def test_unknown_id(channel: grpc.Channel) -> None:
    message = pb.MakeRequest(env_id="CartPool-v1").SerializeToString()
    assert refused(channel, "Make", message) == ("NOT_FOUND", "UNKNOWN_ENVIRONMENT")


def test_garbage_bytes(channel: grpc.Channel) -> None:
    for method in ("Make", "Step", "Close", "GetServerInfo"):
        assert refused(channel, method, b"\xff\xff\xff") == (
            "INVALID_ARGUMENT",
            "MALFORMED_REQUEST",
        )


def test_a_unary_call_without_a_message_ends(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        channel.stream_unary(PREFIX + "GetServerInfo")(iter(()), timeout=10)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_garbage_bytes_on_the_stream(channel: grpc.Channel) -> None:
    replies = channel.stream_stream(PREFIX + "Interact")(
        iter([b"\xff\xff", b"", b"\x5a\x00"]), timeout=10
    )
    reasons = [
        decode_fault(pb.InteractResponse.FromString(raw).error, envwire_family()).reason
        for raw in [next(replies), next(replies)]
    ]
    assert [reason.value for reason in reasons] == ["MALFORMED_REQUEST", "MALFORMED_REQUEST"]
    assert pb.InteractResponse.FromString(next(replies)).HasField("get_server_info")


def test_broken_steps_on_a_connection_that_stepped(env: RemoteEnv) -> None:
    env.step(0)
    assert env._handle.driver
    transport = env._handle.driver.transport
    step = pb.StepRequest(sequence=3)
    encode_value(0, step.action)
    whole = pb.InteractRequest(step=step).SerializeToString()
    for broken in (whole[:1], whole[:2], whole[:-1], whole[:-2] + b"\xff\xff", whole + b"\xff"):
        reply = pb.InteractResponse.FromString(transport.exchange(broken, 10.0).message)
        reason = decode_fault(reply.error, envwire_family()).reason.value
        assert reason in {"MALFORMED_REQUEST", "SEQUENCE_GAP", "INVALID_VALUE"}


def test_wrong_secret(channel: grpc.Channel) -> None:
    session = made(channel)
    head = pb.SessionHeader(session_id=session.session_id, secret=b"guess")
    message = pb.ResetRequest(header=head, sequence=1).SerializeToString()
    assert refused(channel, "Reset", message) == ("PERMISSION_DENIED", "WRONG_SECRET")
    head.secret = session.secret
    message = pb.ResetRequest(header=head, sequence=1).SerializeToString()
    assert channel.unary_unary(PREFIX + "Reset")(message, timeout=10)


def test_unknown_session(channel: grpc.Channel) -> None:
    head = pb.SessionHeader(session_id="nobody")
    message = pb.StepRequest(header=head, sequence=1).SerializeToString()
    assert refused(channel, "Step", message) == ("NOT_FOUND", "UNKNOWN_SESSION")


def test_closed_session(channel: grpc.Channel) -> None:
    session = made(channel)
    head = pb.SessionHeader(session_id=session.session_id, secret=session.secret)
    channel.unary_unary(PREFIX + "Close")(
        pb.CloseRequest(header=head, sequence=1).SerializeToString(), timeout=10
    )
    message = pb.StepRequest(header=head, sequence=2).SerializeToString()
    assert refused(channel, "Step", message) == ("FAILED_PRECONDITION", "SESSION_CLOSED")


def test_step_before_reset(channel: grpc.Channel) -> None:
    session = made(channel)
    head = pb.SessionHeader(session_id=session.session_id, secret=session.secret)
    request = pb.StepRequest(header=head, sequence=1)
    request.action.int_value = 0
    assert refused(channel, "Step", request.SerializeToString()) == (
        "FAILED_PRECONDITION",
        "RESET_NEEDED",
    )


@pytest.mark.parametrize("action", [7, "left", np.zeros(3), None, 0.5])
def test_wrong_actions_raise_what_they_raise_locally(env: RemoteEnv, action: Any) -> None:
    import envwire.envs

    local = envwire.envs.make("CartPole-v1")
    local.reset(seed=0)
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is, the remote one must be the same
        local.step(action)
    with pytest.raises(type(theirs.value)) as mine:
        env.step(action)
    assert str(mine.value) == str(theirs.value)


@pytest.mark.parametrize(
    "action",
    [
        values_pb2.Value(string_value="left"),
        # Python writes no integer of so many digits into its message.
        values_pb2.Value(big_int_value=(10**5000).to_bytes(2100, "little", signed=True)),
    ],
    ids=["text", "10**5000"],
)
def test_a_wrong_action_has_its_status(channel: grpc.Channel, action: values_pb2.Value) -> None:
    session = made(channel)
    head = pb.SessionHeader(session_id=session.session_id, secret=session.secret)
    channel.unary_unary(PREFIX + "Reset")(
        pb.ResetRequest(header=head, sequence=1).SerializeToString(), timeout=10
    )
    request = pb.StepRequest(header=head, sequence=2, action=action)
    assert refused(channel, "Step", request.SerializeToString()) == (
        "INVALID_ARGUMENT",
        "INVALID_ACTION",
    )


def test_an_action_without_a_wire_form_names_its_path(env: RemoteEnv) -> None:
    with pytest.raises(InvalidRequestError, match=r'action\["a"\]\[1\]'):
        env.step({"a": [0, object()]})


@pytest.mark.usefixtures("transport")
def test_wrappers_that_nobody_listed(server: Server) -> None:
    for name in ("os:system", "NoSuchWrapper", "__class__", "RecordVideo"):
        with pytest.raises(NotAllowedError, match=name):
            RemoteEnv(server.target, "CartPole-v1", wrappers=[(name, {})])


@pytest.mark.usefixtures("transport")
def test_a_misspelt_wrapper_gets_the_nearest_name(server: Server) -> None:
    with pytest.raises(NotAllowedError, match="'TimeLimt'; did you mean TimeLimit"):
        RemoteEnv(server.target, "CartPole-v1", wrappers=["TimeLimt"])


def test_wrappers_that_are_one_text(server: Server) -> None:
    with pytest.raises(InvalidRequestError, match=r"pass a list, \['TimeLimit'\]"):
        RemoteEnv(server.target, "CartPole-v1", wrappers="TimeLimit")
    with pytest.raises(InvalidRequestError, match=r"pass a list, \['TimeLimit'\]"):
        RemoteVectorEnv(server.target, "CartPole-v1", num_envs=2, wrappers="TimeLimit")


@pytest.mark.usefixtures("transport")
def test_an_oversized_message(guard: Guard) -> None:
    with Server(
        ["tests/Awkward-v0"],
        imports=["tests.hosted_envs"],
        sys_path=(ROOT,),
        max_message_bytes=200_000,
        **guard.settings,
    ) as small:
        env = RemoteEnv(small.target, "tests/Awkward-v0")
        env.reset(seed=0)
        for size in (199_850, 300_000):  # the reply is too large; the request is
            with pytest.raises(InvalidRequestError, match="--max-message-bytes"):
                env.step(np.zeros(size, np.uint8))
        env.step(0)
        other = RemoteEnv(small.target, "tests/Awkward-v0")
        other.reset(seed=0)
        other.close()
        env.close()


def test_attributes_out_of_reach(env: RemoteEnv) -> None:
    for name in ("__class__", "__init__", "a.b", "", "a b"):
        with pytest.raises(NotAllowedError):
            env._handle.driver.serve(GetAttribute(name))  # type: ignore[union-attr]
    with pytest.raises(NotAllowedError, match="not a method"):
        env._handle.driver.serve(CallMethod("metadata", (), {}))  # type: ignore[union-attr]


def test_a_public_address_needs_a_word() -> None:
    with pytest.raises(ValueError, match="--insecure"):
        Server(["CartPole-v1"], host="0.0.0.0")


def test_a_public_server_takes_listed_kwargs_only(entered: Guard) -> None:
    settings: dict[str, Any] = {
        "allow_kwargs": ["FrozenLake-v1=is_slippery"],
        "insecure": not entered.strict,
    }
    with Server(["FrozenLake-v1"], host="0.0.0.0", **settings, **entered.settings) as public:
        target = f"127.0.0.1:{public.target.rpartition(':')[2]}"
        RemoteEnv(target, "FrozenLake-v1", transport="unary", is_slippery=False).close()
        with pytest.raises(NotAllowedError, match="map_name"):
            RemoteEnv(target, "FrozenLake-v1", transport="unary", map_name="8x8")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"environments": ["CartPole-v1"], "imports": ["no_such_module"]}, "no_such_module"),
        (
            {"environments": ["CartPole-v1"], "allow_wrappers": ["tests.hosted_envs:Nothing"]},
            "Nothing",
        ),
    ],
)
def test_a_server_that_cannot_start_says_why(settings: Any, says: str) -> None:
    with pytest.raises(ServerError, match=says):
        Server(**settings, sys_path=(ROOT,)).start()


def test_a_server_whose_module_fails_shows_where(tmp_path: Path) -> None:
    module = tmp_path / "lab.py"
    module.write_text("ROBOTS = 0\nSHARE = 1 / ROBOTS\n")
    with pytest.raises(ServerError, match=r"lab\.py.* line 2\b(.|\n)*ZeroDivisionError"):
        Server(["CartPole-v1"], imports=[str(module)]).start()


def test_no_server_there() -> None:
    with pytest.raises(ServerUnavailableError, match="envwire serve"):
        RemoteEnv("127.0.0.1:1", "CartPole-v1", connect_timeout=0.2)


def test_another_servers_session_is_told(server: Server, entered: Guard) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    env.reset()
    with Server(["CartPole-v1"], **entered.settings) as other:
        env._handle.driver.transport = open_transport("stream", other.target, 5.0)  # type: ignore[union-attr]
        with pytest.raises(SessionLostError, match="no session"):
            env.step(0)
    with pytest.raises(SessionClosedError):
        env.step(0)
