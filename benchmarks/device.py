"""Measures steps of vector environments on a GPU: in the agent's process, and served, with arrays on the device or not.

`make bench-device` needs a GPU, torch and cuda-bindings, and takes under eight minutes. The cases of a vector take
turns, so that a row is comparable; other rows are not.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from benchmarks.device_envs import ID, TorchCartPoles
from envwire.client.vector import RemoteVectorEnv
from envwire.server import Server

#: Environments, and what each observes.
VECTORS: dict[str, tuple[int, dict[str, int]]] = {
    "4,096 x 4 float32": (4096, {"width": 4}),
    "4,096 x 128 float32": (4096, {"width": 128}),
    "1,024 x 3 x 128 x 128 uint8 (50 MB)": (1024, {"side": 128}),
    "65,536 x 4 float32": (65536, {"width": 4}),
}
#: How environments are served: options of the client, and whether the server shares memory of the host.
SERVED: dict[str, tuple[dict[str, Any], bool]] = {
    "device": ({"device": "cuda:0"}, False),
    "device, views": ({"device": "cuda:0", "copy": False}, False),
    "pinned host, views": ({"device": "host", "copy": False}, False),
    "host": ({}, False),
    "host, --shared-memory": ({}, True),
}


class Agent:
    """A small policy on the GPU, with the same weights in each case.

    Args:
        features: Numbers of an observation that it looks at.
    """

    def __init__(self, features: int) -> None:
        torch.manual_seed(0)
        layers = torch.nn.Linear(features, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)
        self._network = torch.nn.Sequential(*layers).cuda()
        self._features = features

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """Returns the actions for a batch of observations."""
        seen = torch.as_tensor(observation, device="cuda").flatten(1)[:, : self._features]
        return self._network(seen.float()).argmax(1)


def run(env: Any, agent: Agent, steps: int, seed: int | None = None) -> tuple[float, Any]:
    """Returns the milliseconds of a step, and the last observation with the number of ended episodes.

    Args:
        env: The environments.
        agent: Acts.
        steps: How many to measure.
        seed: Seed of the reset before.
    """
    observation = env.reset(seed=seed)[0]
    torch.cuda.synchronize()
    begun, ended = time.perf_counter(), torch.zeros((), device="cuda", dtype=torch.int64)
    for _ in range(steps):
        action = agent.act(observation)
        observation, _, terminated, _, _ = env.step(action)
        ended += torch.as_tensor(terminated, device="cuda").sum()
    torch.cuda.synchronize()
    took = 1e3 * (time.perf_counter() - begun) / steps
    return took, (torch.as_tensor(observation).cpu().numpy().tobytes(), int(ended))


def measure(name: str, servers: dict[bool, Server], rounds: int, seconds: float) -> str:
    """Returns a row of the table."""
    num_envs, kwargs = VECTORS[name]
    features = kwargs.get("width", 384)
    agent = Agent(features)
    with ExitStack() as stack:
        cases: dict[str, Any] = {"local": TorchCartPoles(num_envs, **kwargs)}
        for case, (options, shared) in SERVED.items():
            env = RemoteVectorEnv(
                servers[shared].target, ID, num_envs, vectorization_mode="vector_entry_point",
                env_kwargs=kwargs, **options,
            )  # fmt: skip
            stack.callback(env.close)
            cases[case] = env
        results = {case: run(env, agent, 20, seed=1)[1] for case, env in cases.items()}
        counts = {
            case: max(5, int(seconds * 1e3 / run(env, agent, 5)[0])) for case, env in cases.items()
        }
        times: dict[str, list[float]] = {case: [] for case in cases}
        for _ in range(rounds):
            for case, env in cases.items():
                times[case].append(run(env, agent, min(counts[case], 300), seed=2)[0])
    equal = all(result == results["local"] for result in results.values())
    local = statistics.median(times.pop("local"))
    cells = [f"{local:.2f} ms"]
    cells += [f"{statistics.median(each) / local:.2f}" for each in times.values()]
    return f"| {name} | " + " | ".join(cells) + f" | {'yes' if equal else 'NO'} |"


def faults(target: str, count: int, kill: Callable[[Any], None]) -> str:
    """Kills the environment's process in a step; returns what was found."""
    from envwire.client.errors import RemoteError

    free: list[int] = []
    env = RemoteVectorEnv(
        target, ID, 4096, vectorization_mode="vector_entry_point", device="cuda:0", copy=False
    )
    slowest = 0.0
    for _ in range(count):
        observation, _ = env.reset(seed=1)
        env.step_async(torch.zeros(4096, dtype=torch.int64, device="cuda"))
        kill(env)
        begun = time.perf_counter()
        try:
            env.step_wait()
            env.step(torch.zeros(4096, dtype=torch.int64, device="cuda"))
        except RemoteError:
            pass
        slowest = max(slowest, time.perf_counter() - begun)
        assert bool(
            torch.isfinite(observation).all()
        )  # the GPU works on, and the array is readable
        free.append(torch.cuda.mem_get_info()[0])
    env.close()
    lost = (free[0] - free[-1]) >> 20 if free else 0
    return f"{count} environments killed in a step: {slowest:.2f} s at most until the error, {lost} MiB lost"


def make_and_close(target: str, count: int) -> str:
    """Makes and closes vectors; returns what was found."""
    import os

    found: list[tuple[int, int]] = []
    # Keeps the process of the sessions alive.
    held = RemoteVectorEnv(target, ID, 1, vectorization_mode="vector_entry_point")
    for number in range(count):
        env = RemoteVectorEnv(
            target, ID, 64, vectorization_mode="vector_entry_point", device="cuda:0"
        )
        env.reset(seed=1)
        env.close()
        if number in {count // 4, count - 1}:
            found.append((torch.cuda.mem_get_info()[0] >> 20, len(os.listdir("/proc/self/fd"))))
    held.close()
    (before, files), (after, open_now) = found[0], found[-1]
    return (
        f"{count} makes: {before - after} MiB of the GPU lost, {files} descriptors, then {open_now}"
    )


def main() -> None:
    """Prints the table, and what faults left behind."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.4, help="Of each case in each round.")
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--makes", type=int, default=200)
    given = options.parse_args()
    card = torch.cuda.get_device_name()
    print(f"{card}, {dt.date.today()}; times of local\n", flush=True)
    print("| vector | local | " + " | ".join(SERVED) + " | equal |")
    print("|---" * (len(SERVED) + 3) + "|", flush=True)
    settings: dict[str, Any] = {
        "imports": ["benchmarks.device_envs"],
        "step_timeout": 120.0,
        "max_envs_per_session": 1 << 17,
    }
    with (
        Server(["bench/*"], **settings) as plain,
        Server(["bench/*"], shared_memory=1 << 29, **settings) as sharing,
        Server(["bench/*"], sessions_per_process=8, **settings) as packed,
    ):
        for name in VECTORS:
            print(
                measure(name, {False: plain, True: sharing}, given.rounds, given.seconds),
                flush=True,
            )
        print()
        print(make_and_close(packed.target, given.makes), flush=True)
        print(faults(plain.target, given.kills, _kill_sessions_of(plain)), flush=True)


def _kill_sessions_of(server: Server) -> Callable[[Any], None]:
    import contextlib
    import os
    import signal
    from pathlib import Path

    def children(pid: int) -> list[int]:
        threads = Path(f"/proc/{pid}/task").iterdir()
        return [
            int(child) for thread in threads for child in (thread / "children").read_text().split()
        ]

    def kill(_: Any) -> None:
        for forkserver in children(server.pid):
            for session in children(forkserver):
                with contextlib.suppress(OSError):
                    os.kill(session, signal.SIGKILL)

    return kill


if __name__ == "__main__":
    main()
