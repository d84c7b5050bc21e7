"""Measures a farm: Makes and steps with and without a gateway, and the rate of allocations.

`python -m benchmarks.farm` prints ratios: both sides take turns in one run. The first two measurements use real
servers. The others use fake servers that answer at once, so that they measure the gateway alone, compared with a bare
relay of grpc.aio.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import multiprocessing
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import numpy as np

from benchmarks import plain_relay
from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc, specs_pb2

ENV = "CartPole-v1"
_MAKE = "/envwire.v1.EnvironmentService/Make"
#: An address at which nothing listens.
_NOWHERE = "127.0.0.1:1"
_CONTEXT = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def gateway() -> Iterator[str]:
    """Runs a gateway; yields its target."""
    with gateway_process() as (target, _):
        yield target


@contextlib.contextmanager
def gateway_process() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs a gateway; yields its target and its process."""
    command = [sys.executable, "-m", "envwire", "farm", "gateway", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1], process
        finally:
            process.terminate()


def await_servers(target: str, count: int) -> None:
    """Waits until the given number of servers has registered."""
    with grpc.insecure_channel(target) as channel:
        farm = farm_pb2_grpc.FarmServiceStub(channel)
        while len(farm.ListServers(farm_pb2.ListServersRequest()).servers) < count:
            time.sleep(0.1)


def makes_per_second(target: str, count: int, at_once: int = 8) -> float:
    """Makes environments as stock clients do, and closes them; returns Makes per second."""
    with grpc.insecure_channel(target) as channel, ThreadPoolExecutor(at_once) as pool:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        make = pb.MakeRequest(env_id=ENV)
        begun = time.perf_counter()
        made = list(pool.map(lambda _: stub.Make(make), range(count)))
        taken = time.perf_counter() - begun
        for each in made:
            header = pb.SessionHeader(session_id=each.session_id, secret=each.secret)
            stub.Close(pb.CloseRequest(header=header, sequence=1))
    return count / taken


def steps_per_second(target: str, count: int, transport: str | None = None) -> float:
    """Steps an environment; returns steps per second."""
    env = RemoteEnv(target, ENV, transport=transport)
    env.reset(seed=1)
    begun = time.perf_counter()
    for number in range(count):
        if env.step(number % 2)[2]:
            env.reset()
    taken = time.perf_counter() - begun
    env.close()
    return count / taken


def fakes(pipe: Any) -> None:
    """Answers Makes at once; sends its target."""
    _run(_fakes(pipe))


async def _fakes(pipe: Any) -> None:
    answer = pb.MakeResponse(
        session_id=f"{secrets.token_hex(16)}-fake", description="x" * 2000
    ).SerializeToString()

    async def at_once(_: bytes) -> bytes:
        return answer

    served = await _serve(at_once)
    pipe.send(served[1])
    await asyncio.to_thread(pipe.recv)


def relay(pipe: Any, target: str, connections: int) -> None:
    """Relays Makes to a target over a number of connections in turn, by plain grpc.aio; sends its own target."""

    async def main() -> None:
        own = (("grpc.use_local_subchannel_pool", 1),)
        channels = [grpc.aio.insecure_channel(target, own) for _ in range(connections)]
        calls: Any = itertools.cycle([channel.unary_unary(_MAKE) for channel in channels])

        async def pass_on(request: bytes) -> bytes:
            answer: bytes = await next(calls)(request)
            return answer

        served = await _serve(pass_on)
        pipe.send(served[1])
        await asyncio.to_thread(pipe.recv)

    _run(main())


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine in the event loop that servers use."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _serve(answer: Callable[[bytes], Awaitable[bytes]]) -> tuple[grpc.aio.Server, str]:
    async def make(request: bytes, _: Any) -> bytes:
        return await answer(request)

    server = grpc.aio.server()
    handlers = {"Make": grpc.unary_unary_rpc_method_handler(make)}
    name = "envwire.v1.EnvironmentService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, f"127.0.0.1:{port}"


@contextlib.contextmanager
def child(main: Callable[..., None], *arguments: Any) -> Iterator[str]:
    """Runs a function in a process; yields the target that it sends."""
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=main, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(1)
        process.kill()


async def with_fakes(target: str, fake: str, count: int, slots: int, work: Any) -> Any:
    """Registers fake servers, all at one address, and keeps them registered while `work` is done."""
    async with grpc.aio.insecure_channel(target) as channel:
        farm: Any = farm_pb2_grpc.FarmServiceStub(channel)
        calls = [farm.Register(_reports(f"fake{i}", fake, slots)) for i in range(count)]
        await asyncio.gather(*(call.read() for call in calls))
        try:
            return await work(channel, farm)
        finally:
            for call in calls:
                call.cancel()


async def _reports(name: str, address: str, slots: int) -> Any:
    spec = specs_pb2.EnvSpec(id=ENV)
    hello = farm_pb2.ServerHello(
        server_id=name,
        address=address,
        info=pb.GetServerInfoResponse(incarnation=name, max_sessions=slots),
        environments=[pb.EnvironmentListing(library="gymnasium", spec=spec)],
    )
    yield farm_pb2.RegisterRequest(hello=hello)
    await asyncio.sleep(random.random())  # servers do not report all at once
    while True:
        await asyncio.sleep(1.0)
        yield farm_pb2.RegisterRequest(load=farm_pb2.ServerLoad())


async def rate(call: Callable[[], Awaitable[Any]], count: int, at_once: int) -> tuple[float, float]:
    """Makes a number of concurrent calls; returns calls per second, and the 99th percentile in milliseconds."""
    times: list[float] = []

    async def caller() -> None:
        for _ in range(count // at_once):
            begun = time.perf_counter()
            await call()
            times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    taken = time.perf_counter() - begun
    return len(times) / taken, 1000 * statistics.quantiles(times, n=100)[98]


async def paced(
    call: Callable[[], Awaitable[Any]], per_second: float, count: int
) -> tuple[float, float]:
    """Makes calls at a fixed rate, whether or not earlier ones were answered.

    Returns:
        The median and the 99th percentile, in milliseconds since each call was due.
    """
    times: list[float] = []
    begun = time.perf_counter() + 0.1

    async def caller(due: float) -> None:
        await asyncio.sleep(due - time.perf_counter())
        await call()
        times.append(1000 * (time.perf_counter() - due))

    await asyncio.gather(*(caller(begun + number / per_second) for number in range(count)))
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def beside(
    name: str, unit: str, rounds: int, ours: Callable[[], float], other: Callable[[], float]
) -> None:
    """Prints the results of two measurements that take turns, and their ratio."""
    pairs = [(ours(), other()) for _ in range(rounds)]
    first, second = (statistics.median(values) for values in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    print(
        f"{name}: {first:,.0f} and {second:,.0f} {unit}, ratio {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


def real(rounds: int) -> None:
    """Measures Makes and steps with a real server."""
    settings: dict[str, Any] = {"sessions_per_process": 64, "max_sessions": 512}
    with gateway() as target, Server([ENV], join=[target], **settings) as server:
        await_servers(target, 1)
        makes_per_second(target, 64)
        beside(
            "Makes, through the gateway and without", "a second", rounds,
            lambda: makes_per_second(target, 200), lambda: makes_per_second(server.target, 200),
        )  # fmt: skip
        beside(
            "steps, made through the gateway and without", "a second", rounds,
            lambda: steps_per_second(target, 5000), lambda: steps_per_second(server.target, 5000),
        )  # fmt: skip


def tunnel(rounds: int) -> None:
    """Compares steps over a direct channel through the gateway with other ways."""
    settings: dict[str, Any] = {"sessions_per_process": 64}
    with socket.create_server(("127.0.0.1", 0)) as free:
        direct_port = free.getsockname()[1]
    with (
        gateway() as target,
        Server([ENV], join=[target], tunnel=True, **settings),
        Server([ENV], direct_port=direct_port, **settings) as near,
    ):
        port = int(near.target.rpartition(":")[2])
        with child(plain_relay.relay, port, direct_port) as hop:
            others = {
                "over one through a plain relay": (f"{hop}:{port}", "direct-tcp"),
                "over one without a hop": (near.target, "direct-tcp"),
                "as calls through the tunnel": (target, "stream"),
            }
            await_servers(target, 1)
            steps_per_second(target, 500, "direct-tcp")
            for name, (other, transport) in others.items():
                beside(
                    f"steps over a direct channel through the gateway, and {name}", "a second", rounds,
                    lambda: steps_per_second(target, 2000, "direct-tcp"),
                    partial(steps_per_second, other, 2000, transport),
                )  # fmt: skip


def whole(servers: int, num_envs: int, sessions: int, rounds: int) -> None:
    """Prints how long a large vector environment takes through the gateway, and how evenly sessions are spread."""
    settings: dict[str, Any] = {"sessions_per_process": 64, "max_sessions": sessions}
    settings["max_envs_per_session"] = num_envs
    with gateway() as target, ExitStack() as stack:
        joined = [
            stack.enter_context(Server([ENV], join=[target], **settings)) for _ in range(servers)
        ]
        await_servers(target, servers)
        times: list[float] = []
        for _ in range(rounds):
            begun = time.perf_counter()
            envs = RemoteVectorEnv(target, ENV, num_envs=num_envs)
            envs.reset(seed=1)
            times.append(time.perf_counter() - begun)
            envs.step(np.zeros(num_envs, np.int64))
            memory = sum(_megabytes(each.pid) for each in joined)
            envs.close()
        print(
            f"{num_envs:,} environments on {servers} servers: made, reset and observed in "
            f"{statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f}), all stepped; "
            f"{memory:,.0f} MB in all processes of the servers"
        )
        with grpc.insecure_channel(target) as channel, ThreadPoolExecutor(16) as pool:
            make = environment_pb2_grpc.EnvironmentServiceStub(channel).Make
            made = pool.map(lambda _: make(pb.MakeRequest(env_id=ENV)).address, range(sessions))
            counts = Counter(made)
        print(f"{sessions:,} sessions, by server: {sorted(counts.values())}")


def _megabytes(root: int) -> float:
    """Returns the memory of a process and its descendants; shared memory counts once."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    kilobytes = 0
    for pid in found:
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(rollup.partition("\nPss:")[2].split()[0])
    return kilobytes / 1024


def batches(servers: int, slots: int) -> None:
    """Measures allocations in batches of 1,000 slots of fake servers, at the highest rate and at fixed lower rates."""
    batch = farm_pb2.AllocateRequest(count=1000, env_id=ENV)

    async def work(farm: Any, process: subprocess.Popen[str]) -> None:
        most, slowest = await rate(lambda: farm.Allocate(batch), 100, 4)
        print(
            f"{servers:,} fake servers, batches of 1,000 slots: {1000 * most:,.0f} slots a second, four at once "
            f"(p99 {slowest:.0f} ms)"
        )
        before = _cpu_seconds(process.pid)
        for per_second in (12, 24):
            median, slowest = await paced(lambda: farm.Allocate(batch), per_second, 240)
            used = 1000 * (_cpu_seconds(process.pid) - before) / 240
            before = _cpu_seconds(process.pid)
            print(
                f"  {per_second} batches a second: median {median:.0f} ms, p99 {slowest:.0f} ms; the gateway took "
                f"{used:.1f} ms of the processor for each, reports included"
            )

    with gateway_process() as (target, process):
        asyncio.run(
            with_fakes(target, _NOWHERE, servers, slots, lambda _, farm: work(farm, process))
        )


def alone(servers: int, slots: int, rounds: int) -> None:
    """Compares a gateway with fake servers with a bare relay over the same number of connections."""
    make = pb.MakeRequest(env_id=ENV).SerializeToString()

    async def work(channel: Any, farm: Any, bare: Any) -> None:
        through, relayed = channel.unary_unary(_MAKE), bare.unary_unary(_MAKE)
        pairs: list[tuple[float, float]] = []
        for _ in range(rounds):
            ours, slowest = await rate(lambda: through(make), 2000, 16)
            theirs, _ = await rate(lambda: relayed(make), 2000, 16)
            pairs.append((ours, theirs))
        ratios = sorted(b / a for a, b in pairs)
        print(
            f"{servers:,} fake servers: {statistics.median(a for a, _ in pairs):,.0f} Makes a second (p99 of the last "
            f"round {slowest:.0f} ms), a bare relay {statistics.median(b for _, b in pairs):,.0f}; "
            f"{statistics.median(ratios):.2f} times slower ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
        single = farm_pb2.AllocateRequest(count=1, env_id=ENV)
        ones, _ = await rate(lambda: farm.Allocate(single), 500, 8)
        print(f"  Allocate: {ones:,.0f} slots a second, one by one")

    async def main(target: str, fake: str, bare: str) -> None:
        async with grpc.aio.insecure_channel(bare) as relayed:
            await with_fakes(
                target, fake, servers, slots, lambda channel, farm: work(channel, farm, relayed)
            )

    with gateway() as target, child(fakes) as fake, child(relay, fake, servers) as bare:
        asyncio.run(main(target, fake, bare))


def idle(servers: int, seconds: float) -> None:
    """Prints the processor time that a gateway uses while servers only report."""

    async def work(process: subprocess.Popen[str]) -> None:
        await asyncio.sleep(2.0)
        before = _cpu_seconds(process.pid)
        await asyncio.sleep(seconds)
        used = (_cpu_seconds(process.pid) - before) / seconds
        print(f"{servers:,} idle servers: the gateway uses {used:.1%} of a processor")

    with gateway_process() as (target, process):
        asyncio.run(with_fakes(target, _NOWHERE, servers, 1000, lambda *_: work(process)))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def disaster(servers: int, slots: int) -> None:
    """Kills a third of the servers and one of two gateways at once, and prints the rate of the other gateway."""

    async def work(
        channel: Any, farm: Any, first: subprocess.Popen[str], doomed: list[Any]
    ) -> None:
        first.kill()
        for call in doomed:
            call.cancel()
        begun, make = time.perf_counter(), channel.unary_unary(_MAKE)
        message, failed = pb.MakeRequest(env_id=ENV).SerializeToString(), 0

        async def attempt() -> None:
            nonlocal failed
            try:
                await make(message, timeout=30.0)
            except grpc.aio.AioRpcError:
                failed += 1

        makes, slowest = await rate(attempt, 2000, 16)
        while await _count_dead(farm) < len(doomed):
            await asyncio.sleep(0.1)
        print(
            f"{len(doomed):,} of {servers:,} servers and one of two gateways died: {makes:,.0f} Makes a second through "
            f"the other one from that moment on, {failed} of 2,000 failed, p99 {slowest:.0f} ms; all were found dead "
            f"after {time.perf_counter() - begun:.1f} s"
        )

    async def main(first: subprocess.Popen[str], both: tuple[str, str], fake: str) -> None:
        async with AsyncExitStack() as stack:
            channels = [
                await stack.enter_async_context(grpc.aio.insecure_channel(each)) for each in both
            ]
            farms: list[Any] = [farm_pb2_grpc.FarmServiceStub(each) for each in channels]
            calls = [
                [
                    farm.Register(_reports(f"fake{i}", _NOWHERE if i % 3 == 0 else fake, slots))
                    for i in range(servers)
                ]
                for farm in farms
            ]
            await asyncio.gather(*(call.read() for of_one in calls for call in of_one))
            try:
                await work(channels[1], farms[1], first, calls[1][::3])
            finally:
                for call in itertools.chain(*calls):
                    call.cancel()

    with gateway_process() as (target, first), gateway() as second, child(fakes) as fake:
        asyncio.run(main(first, (target, second), fake))


async def _count_dead(farm: Any) -> int:
    listed = await farm.ListServers(farm_pb2.ListServersRequest())
    return sum(each.state == farm_pb2.ServerStatus.STATE_DEAD for each in listed.servers)


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", type=int, nargs="*", default=[4, 100, 1000])
    arguments = parser.parse_args()
    real(arguments.rounds)
    tunnel(arguments.rounds)
    whole(4, 10_000, 1000, arguments.rounds)
    for servers in arguments.servers:
        alone(servers, min(100_000, 1_000_000 // servers), arguments.rounds)
        batches(servers, 1_000_000 // servers)
    idle(100, 20.0)
    disaster(300, 1000)


if __name__ == "__main__":
    main()
