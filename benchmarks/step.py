"""Measures a step of CartPole over each transport, compared with a bare gRPC echo of the same sizes: `make bench`.

All cases run interleaved in one process against one server, so that the machine's noise affects all alike; the ratios
are more reliable than the times. The echo is a stock asyncio gRPC server and a stock client with meaningless messages
of the same lengths.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import Any

import grpc
import grpc.aio
from rich.console import Console
from rich.progress import track
from rich.table import Table

import envwire.envs
from envwire.client import RemoteEnv
from envwire.codec import encode_value
from envwire.server import InProcessTransport, Server
from envwire.v1 import environment_pb2 as pb

ENV_ID = "CartPole-v1"
Step = Callable[[], object]


def _sizes() -> tuple[int, int]:
    """Returns the lengths of a CartPole step's request and reply."""
    request, reply = pb.InteractRequest(), pb.InteractResponse()
    request.step.header.session_id, request.step.header.secret = "x" * 32, b"x" * 16
    request.step.sequence = 100
    encode_value(1, request.step.action)
    env = envwire.envs.make(ENV_ID)
    encode_value(env.reset(seed=0)[0], reply.step.observation)
    reply.step.reward = 1.0
    reply.step.info.SetInParent()
    return request.ByteSize(), reply.ByteSize()


async def _serve_echo() -> None:
    reply = bytes(_sizes()[1])

    async def unary(_: bytes, __: Any) -> bytes:
        return reply

    async def stream(_: Any, context: Any) -> None:
        while (await context.read()) is not grpc.aio.EOF:
            await context.write(reply)

    server = grpc.aio.server()
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Stream": grpc.stream_stream_rpc_method_handler(stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Echo", handlers),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


@contextmanager
def _echo() -> Generator[tuple[Step, Step]]:
    """Yields one unary call and one exchange on a stream with an echo server in a separate process."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--echo"], stdout=subprocess.PIPE, text=True
    )
    try:
        port = process.stdout.readline().strip() if process.stdout else ""
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            request, queue = bytes(_sizes()[0]), SimpleQueue[bytes | None]()
            call = channel.unary_unary("/Echo/Unary")
            replies = channel.stream_stream("/Echo/Stream")(iter(queue.get, None))

            def exchange() -> object:
                queue.put(request)
                return next(replies)

            yield lambda: call(request), exchange
            replies.cancel()
    finally:
        process.terminate()
        process.wait()


def _stepper(env: Any) -> Step:
    """Returns a function that makes one exchange: a step, or the reset that begins the next episode."""
    ended, count = True, 0

    def step() -> object:
        nonlocal ended, count
        if ended:
            ended = False
            return env.reset()
        count += 1
        result = env.step(count % 2)
        ended = result[2] or result[3]
        return result

    return step


def _time(step: Step, steps: int) -> float:
    """Returns the microseconds of a step."""
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps * 1e6


def measure(rounds: int, steps: int) -> dict[str, list[float]]:
    """Returns the microseconds of a step for each case, one number per round; the cases take turns."""
    with ExitStack() as stack:
        server = stack.enter_context(Server([ENV_ID]))
        bare_unary, bare_stream = stack.enter_context(_echo())
        envs = {
            "local": envwire.envs.make(ENV_ID),
            "in process": RemoteEnv(None, ENV_ID, transport=InProcessTransport([ENV_ID])),
            "stream": RemoteEnv(server.target, ENV_ID, transport="stream"),
            "unary": RemoteEnv(server.target, ENV_ID, transport="unary"),
        }
        cases: dict[str, Step] = {name: _stepper(env) for name, env in envs.items()}
        cases |= {"bare stream echo": bare_stream, "bare unary echo": bare_unary}
        times: dict[str, list[float]] = {name: [] for name in cases}
        for case in cases.values():
            _time(case, steps // 4)
        for _ in track(range(rounds), description="rounds"):
            for name, case in cases.items():
                times[name].append(_time(case, steps))
        for env in envs.values():
            env.close()
    return times


BESIDE = {
    "in process": "local",
    "stream": "bare stream echo",
    "unary": "bare unary echo",
}


def show(times: dict[str, list[float]]) -> None:
    """Prints medians, ranges, and the ratio of each case to its reference case."""
    table = Table("case", "us a step", "range", "steps/s", "ratio", "range of ratios", "to")
    for name, values in times.items():
        median = statistics.median(values)
        ratio, spread, beside = "", "", BESIDE.get(name, "")
        if beside:
            ratios = [mine / other for mine, other in zip(values, times[beside], strict=True)]
            ratio = f"{statistics.median(ratios):.2f}"
            spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
        spans = f"{min(values):.0f}-{max(values):.0f}"
        table.add_row(name, f"{median:.0f}", spans, f"{1e6 / median:,.0f}", ratio, spread, beside)
    Console().print(table)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=500, help="steps a round")
    parser.add_argument("--echo", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.echo:
        asyncio.run(_serve_echo())
    else:
        show(measure(arguments.rounds, arguments.steps))


if __name__ == "__main__":
    main()
