"""The C header beside the environment itself, over the direct port alone, with connections cut."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from typing import NamedTuple

import pytest

import envwire.envs as gym
from envwire.server import Server
from envwire.v1 import direct_pb2, environment_pb2
from tests.adversary.channel import frame
from tests.faults.test_gone_servers import free_port
from tests.faults.wire import Wire
from tests.languages.programs import program, running
from tests.languages.rollouts import SEED, cuts

ENV_ID = "CartPole-v1"


class Outcome(NamedTuple):
    """The result of a reset or a step, as the program prints it: bytes of the observation, reward, whether it ended."""

    observation: str
    reward: float = 0.0
    ended: bool = False


def expected(steps: int) -> tuple[list[int], list[Outcome]]:
    """Returns actions, and their local results."""
    with gym.make(ENV_ID) as env:
        env.action_space.seed(SEED)
        actions = [int(env.action_space.sample()) for _ in range(steps)]
        outcomes = [Outcome(env.reset(seed=SEED)[0].tobytes().hex())]
        for action in actions:
            observation, reward, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
            outcomes.append(Outcome(observation.tobytes().hex(), float(reward), ended))
            if ended:
                outcomes.append(Outcome(env.reset()[0].tobytes().hex()))
    return actions, outcomes


def rollout(
    host: str, port: int, actions: list[int], begun: Callable[[], None] = lambda: None
) -> tuple[list[Outcome], int]:
    """Lets the C program take the actions; returns its results, and the number of its reconnections."""
    with running("cpp", "rollout_c", host, str(port), ENV_ID, str(SEED)) as process:
        begun()
        output, _ = process.communicate("\n".join(map(str, actions)) + "\n", timeout=240)
    *lines, last = output.splitlines()
    parts = [line.split() for line in lines]
    return [Outcome(part[0], float(part[1]), part[2] == "1") for part in parts], int(
        last.split()[1]
    )


def test_a_rollout_is_the_local_one_bit_for_bit() -> None:
    actions, outcomes = expected(500)
    port = free_port()
    with Server([ENV_ID], direct_port=port):
        seen, _ = rollout("127.0.0.1", port, actions)
    assert seen == outcomes


def test_a_session_goes_on_after_bytes_that_are_no_value() -> None:
    actions, _ = expected(1)
    port = free_port()
    with (
        Server([ENV_ID], direct_port=port),
        running("cpp", "rollout_c", "127.0.0.1", str(port), ENV_ID, str(SEED)) as process,
    ):
        output, _ = process.communicate(f"-1000\n{actions[0]}\n", timeout=60)
    _, refused, step, _ = output.splitlines()
    assert refused == "MALFORMED_REQUEST"
    assert step.endswith(" 1 0")


@pytest.mark.long
def test_no_step_is_lost_or_doubled_while_connections_are_cut() -> None:
    actions, outcomes = expected(1000)
    with Wire(SEED) as wire, Server([ENV_ID], **wire.settings), cuts(wire) as start:
        host = wire.target.split(":")[0]
        seen, resumed = rollout(host, wire.settings["direct_port"], actions, start)
    assert seen == outcomes
    assert resumed > 0


def test_a_server_that_is_not_there_is_said_to_be() -> None:
    with running("cpp", "rollout_c", "127.0.0.1", str(free_port()), ENV_ID, "1") as process:
        process.communicate("", timeout=30)
        assert process.returncode == 1


def test_a_make_that_failed_says_why_at_the_reset() -> None:
    command = [*program("cpp", "rollout_c"), "127.0.0.1", str(free_port()), ENV_ID, "1"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 1
    assert finished.stderr.startswith("UNAVAILABLE: no server with a direct port answers there")


@pytest.mark.parametrize("surplus", ["reset reset", "step"])
def test_an_answer_that_comes_twice_or_to_another_request_is_not_taken(surplus: str) -> None:
    """What a reset is answered so is asked again on another connection, and answered once there."""
    made = environment_pb2.MakeResponse(session_id="one", secret=b"secret")
    welcome = direct_pb2.HelloResponse(welcome=direct_pb2.Welcome(max_message_bytes=2**20))
    answers = {
        kind: frame(environment_pb2.InteractResponse(**{kind: {}}).SerializeToString())
        for kind in ("reset", "step", "close")
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        with (
            running("cpp", "rollout_c", "127.0.0.1", str(port), ENV_ID, "1") as process,
            listener.accept()[0] as first,
        ):
            first.recv(4096)
            first.sendall(frame(direct_pb2.HelloResponse(made=made).SerializeToString()))
            first.sendall(frame(welcome.SerializeToString()))
            first.recv(4096)
            first.sendall(b"".join(answers[kind] for kind in surplus.split()))
            assert process.stdin is not None
            process.stdin.write("1\n")
            process.stdin.close()
            with listener.accept()[0] as second:
                second.recv(4096)
                second.sendall(frame(welcome.SerializeToString()))
                for answer in answers.values():
                    second.recv(4096)
                    second.sendall(answer)
                assert process.stdout is not None
                assert process.stdout.read().splitlines()[-1] == "resumed 1"


@pytest.mark.long
def test_a_port_whose_packets_are_dropped_is_not_waited_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        _, port = listener.getsockname()
        with socket.create_connection(("127.0.0.1", port)):  # fills the queue
            command = [*program("cpp", "rollout_c"), "127.0.0.1", str(port), ENV_ID, "1"]
            finished = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=30
            )
    assert finished.stderr.startswith("UNAVAILABLE")
