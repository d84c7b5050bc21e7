"""`envwire bench`: measures a step on a server, with a breakdown of its time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envwire.server.cli._failures import of_the_server, reporting
from envwire.server.cli._parameters import EnvId, Target, check_transport, checked

if TYPE_CHECKING:
    from envwire.server.cli._drive.measuring import TimedTransport, Timing


def _names(transports: str) -> list[str]:
    return [name.strip() for name in transports.split(",") if name.strip()]


def _check_transports(transports: str) -> None:
    if not _names(transports):
        raise ValueError("--transports names none; leave it out to compare all")
    for name in _names(transports):
        check_transport(name)


def _check_device(device: str) -> None:
    from envwire.device.devices import check_device_name

    if device:
        check_device_name(device)


def bench(
    target: Target,
    env_id: EnvId = "CartPole-v1",
    steps: Annotated[int, typer.Option(min=10, help="Steps over each transport.")] = 2000,
    transports: Annotated[
        str,
        typer.Option(
            help="Transports to compare, separated by commas.", callback=checked(_check_transports)
        ),
    ] = "direct-unix,direct-tcp,stream,unary",
    num_envs: Annotated[
        int,
        typer.Option(
            min=0, help="Environments that step as arrays, in one session; 0 for a single one."
        ),
    ] = 0,
    device: Annotated[
        str,
        typer.Option(
            help="Where arrays stay: host, cuda or cuda:N.", callback=checked(_check_device)
        ),
    ] = "",
) -> None:
    """Measure a step of ENV_ID at TARGET over each transport, and show how its time is spent.

    Example: envwire bench localhost:50051 lab/Ant-v0 --num-envs 4096 --device cuda:0 --transports direct-unix,stream
    """
    from rich.progress import Progress

    from envwire.server.cli._console import OperatorConsole

    timings: dict[str, Timing | Exception] = {}
    shown = Progress(console=OperatorConsole(), transient=True, disable=not sys.stdout.isatty())
    with reporting("bench"), shown as progress:
        for name in _names(transports):
            advance = partial(progress.advance, progress.add_task(name, total=steps))
            try:
                made = partial(_make, target, env_id, num_envs, device)
                timings[name] = _measure(made, target, name, steps, advance)
            except Exception as error:
                if of_the_server(error):
                    raise
                timings[name] = error
    _show(env_id, timings)
    if all(isinstance(timing, Exception) for timing in timings.values()):
        raise typer.Exit(1)


def _make(target: str, env_id: str, num_envs: int, device: str, transport: TimedTransport) -> Any:
    from envwire.client import RemoteEnv
    from envwire.client.vector import RemoteVectorEnv

    options: dict[str, Any] = {"transport": transport, "device": device or None}
    if not num_envs:
        return RemoteEnv(target, env_id, **options)
    options["vectorization_mode"] = "vector_entry_point"
    return RemoteVectorEnv(target, env_id, num_envs, **options)


def _measure(
    make: Callable[[TimedTransport], Any],
    target: str,
    name: str,
    steps: int,
    advance: Callable[[], None],
) -> Timing:
    from envwire.client._transports.by_name import open_transport
    from envwire.server.cli._drive.measuring import TimedTransport, measure

    transport = TimedTransport(open_transport(name, target, None))
    with closing(make(transport)) as env:
        measure(env, transport, max(10, steps // 10), lambda: None)  # warms both sides up
        return measure(env, transport, steps, advance)


def _show(env_id: str, timings: dict[str, Timing | Exception]) -> None:
    from rich.table import Table

    from envwire.server.cli._console import OperatorConsole, print_whole

    table = Table(title=f"A step of {env_id}, in microseconds")
    table.add_column("transport", no_wrap=True)
    for column in ("steps/s", "p50", "p99", "env", "server", "wire", "client"):
        table.add_column(column, justify="right")
    console = OperatorConsole()
    for name, timing in timings.items():
        if isinstance(timing, Exception):
            console.print(f"{name}: {timing}", style="yellow")
            continue
        numbers = (1e6 / timing.mean, timing.percentile(50), timing.percentile(99))
        parts = (timing.stepping, timing.server, timing.wire, timing.client)
        table.add_row(name, *(f"{number:,.0f}" for number in (*numbers, *parts)))
    print_whole(table, console)
    console.print("env: its own step; server: reading the action and writing the answer;")
    console.print(
        "wire: the way there and back, with all waiting; client: as server, on this side."
    )
