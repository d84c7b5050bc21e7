"""A server that is about to stop says so beside its answers, whichever way they go, so that clients can move before."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

import grpc
import pytest

from envwire.client import RemoteEnv
from envwire.client.vector import RemoteVectorEnv
from envwire.codec.errors.statuses import TRAILER
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from tests.faults.scene import eventually

ENV = "CartPole-v1"
WAYS = ("unary", "stream", "direct-tcp", "direct-unix")


def told(env: RemoteEnv) -> bool:
    env.step(0)
    return bool(env.notices)


def test_draining_is_told_beside_the_answers_of_every_transport(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Server([ENV], drain_timeout=60.0) as server:
        envs = [RemoteEnv(server.target, ENV, transport=way) for way in WAYS]
        local = RemoteEnv(server.target, ENV)
        heard: list[Any] = []
        for env in (*envs, local):
            env.reset(seed=7)
            env.step(0)
            assert env.notices == ()
        driver = envs[0]._handle.driver
        assert driver is not None
        driver.session.on_notices = heard.append
        with caplog.at_level(logging.WARNING, "envwire.client"):
            os.kill(server.pid, signal.SIGTERM)
            for env in envs:
                assert eventually(lambda env=env: told(env))  # type: ignore[misc]
                assert env.notices[0].kind == "DRAINING"
                assert 0 < env.notices[0].time_left <= 60
        assert caplog.text.count("DRAINING") == len(WAYS) - 1
        assert len(heard) == 1
        for env in (*envs, local):
            env.close()


def test_a_vector_environment_is_told_as_well() -> None:
    with Server([ENV], drain_timeout=60.0) as server:
        envs = RemoteVectorEnv(server.target, ENV, num_envs=2)
        envs.reset(seed=7)
        os.kill(server.pid, signal.SIGTERM)

        def heard() -> bool:
            envs.step(envs.action_space.sample())
            return bool(envs.notices)

        assert eventually(heard)
        envs.close()


def test_unary_calls_tell_it_in_their_trailing_metadata() -> None:
    with Server([ENV], drain_timeout=60.0) as server, grpc.insecure_channel(server.target) as there:
        ask = there.unary_unary("/envwire.v1.EnvironmentService/GetServerInfo")
        kept = RemoteEnv(server.target, ENV)
        assert TRAILER not in dict(ask.with_call(b"")[1].trailing_metadata())
        os.kill(server.pid, signal.SIGTERM)

        def info() -> pb.GetServerInfoResponse:
            return pb.GetServerInfoResponse.FromString(ask(b""))

        assert eventually(lambda: info().draining)
        trailer = dict(ask.with_call(b"")[1].trailing_metadata())[TRAILER]
        (notice,) = status_pb2.NoticeList.FromString(trailer).notices
        assert notice.kind == status_pb2.Notice.KIND_DRAINING
        refused = there.unary_unary("/envwire.v1.EnvironmentService/Make")
        with pytest.raises(grpc.RpcError) as error:
            refused(b"")
        assert TRAILER in dict(error.value.trailing_metadata()), "an error is an answer as well"
        kept.close()
