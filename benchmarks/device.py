"""Measures steps of vector environments on a GPU: in the agent's process, and served, with arrays on the device or not.

`make bench-device` needs a GPU, torch and cuda-bindings, and takes under eight minutes. The cases of a vector take
turns, so that a row is comparable; other rows are not. Without a GPU it measures small vectors in memory of the host,
which shows that it works, and no more.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from benchmarks.device_envs import ID, TorchCartPoles
from envwire.client.errors import RemoteError
from envwire.client.vector import RemoteVectorEnv
from envwire.server import Server

ON_GPU = torch.cuda.is_available()
#: Where torch computes, and what clients name.
PLACE, DEVICE = ("cuda", "cuda:0") if ON_GPU else ("cpu", "host")
#: By how much vectors are smaller without a GPU.
DIVISOR = 1 if ON_GPU else 32
#: Environments, and what each observes.
VECTORS: dict[str, tuple[int, dict[str, int]]] = {
    "4,096 x 4 float32": (4096, {"width": 4}),
    "4,096 x 128 float32": (4096, {"width": 128}),
    "1,024 x 3 x 128 x 128 uint8 (50 MB)": (1024, {"side": 128}),
    "65,536 x 4 float32": (65536, {"width": 4}),
}
#: How environments are served: options of the client, and whether the server shares memory of the host.
SERVED: dict[str, tuple[dict[str, Any], bool]] = {
    "device": ({"device": DEVICE}, False),
    "device, views": ({"device": DEVICE, "copy": False}, False),
    "pinned host, views": ({"device": "host", "copy": False}, False),
    "NumPy, socket": ({}, False),
    "NumPy, shared memory": ({}, True),
}


class Agent:
    """A small policy on the GPU, with the same weights in each case.

    Args:
        features: Numbers of an observation that it looks at.
    """

    def __init__(self, features: int) -> None:
        torch.manual_seed(0)
        layers = torch.nn.Linear(features, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)
        self._network = torch.nn.Sequential(*layers).to(PLACE)
        self._features = features

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """Returns the actions for a batch of observations."""
        seen = torch.as_tensor(observation, device=PLACE).flatten(1)[:, : self._features]
        return self._network(seen.float()).argmax(1)


def synchronize() -> None:
    """Waits for the GPU."""
    if ON_GPU:
        torch.cuda.synchronize()


def free() -> int:
    """Returns the free memory of the GPU, or of the host, in MiB."""
    if ON_GPU:
        return int(torch.cuda.mem_get_info()[0]) >> 20
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) >> 10


def run(env: Any, agent: Agent, steps: int, seed: int | None = None) -> tuple[float, Any]:
    """Returns the milliseconds of a step, and the last observation with the number of ended episodes.

    Args:
        env: The environments.
        agent: Acts.
        steps: How many to measure.
        seed: Seed of the reset before.
    """
    observation = env.reset(seed=seed)[0]
    synchronize()
    begun, ended = time.perf_counter(), torch.zeros((), device=PLACE, dtype=torch.int64)
    for _ in range(steps):
        action = agent.act(observation)
        observation, _, terminated, _, _ = env.step(action)
        ended += torch.as_tensor(terminated, device=PLACE).sum()
    synchronize()
    took = 1e3 * (time.perf_counter() - begun) / steps
    return took, (torch.as_tensor(observation).cpu().numpy().tobytes(), int(ended))


def measure(name: str, servers: dict[bool, Server], rounds: int, seconds: float) -> str:
    """Returns a row of the table."""
    num_envs, kwargs = VECTORS[name]
    num_envs //= DIVISOR
    features = kwargs.get("width", 384)
    agent = Agent(features)
    with ExitStack() as stack:
        cases: dict[str, Any] = {"local": TorchCartPoles(num_envs, device=PLACE, **kwargs)}
        for case, (options, shared) in SERVED.items():
            env = RemoteVectorEnv(
                servers[shared].target, ID, num_envs, vectorization_mode="vector_entry_point",
                env_kwargs={"device": PLACE, **kwargs}, **options,
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


#: How the environments are made in the faults.
SHARED: dict[str, Any] = {
    "vectorization_mode": "vector_entry_point",
    "device": DEVICE,
    "env_kwargs": {"device": PLACE},
}


def environments_killed(server: Server, count: int) -> str:
    """Kills the environment's process in a step; returns what was found."""
    left: list[int] = []
    slowest = 0.0
    env = RemoteVectorEnv(server.target, ID, 4096 // DIVISOR, copy=False, **SHARED)
    action = torch.zeros(4096 // DIVISOR, dtype=torch.int64, device=PLACE)
    for _ in range(count):
        observation, _ = env.reset(seed=1)
        env.step_async(action)
        kill_sessions(server)
        begun = time.perf_counter()
        with contextlib.suppress(RemoteError):
            env.step_wait()
            env.step(action)
        slowest = max(slowest, time.perf_counter() - begun)
        # The GPU works on, and the array is readable.
        assert bool(torch.isfinite(observation).all())
        left.append(free())
    env.close()
    lost = left[0] - left[-1]
    return f"{count} environments killed in a step: {slowest:.2f} s at most until the error, {lost} MiB lost"


AGENT = f"""
import sys, torch
from envwire.client.vector import RemoteVectorEnv
env = RemoteVectorEnv(sys.argv[1], {ID!r}, {4096 // DIVISOR}, lease=1.0, **{SHARED!r})
env.reset(seed=1)
print("ready", flush=True)
while True:
    env.step(torch.zeros({4096 // DIVISOR}, dtype=torch.int64, device={PLACE!r}))
"""


def agents_killed(server: Server, count: int) -> str:
    """Kills the agent's process in a step; returns what was found."""
    left: list[int] = []
    slowest = 0.0
    for _ in range(count):
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, server.target], stdout=subprocess.PIPE
        )
        assert agent.stdout is not None
        agent.stdout.readline()
        agent.kill()
        agent.communicate()
        begun = time.perf_counter()
        while sessions(server) and time.perf_counter() - begun < 30:
            time.sleep(0.05)
        slowest = max(slowest, time.perf_counter() - begun)
        left.append(free())
    lost = left[0] - left[-1]
    told = f"{slowest:.2f} s at most until their sessions ended, by a lease of 1 s, {lost} MiB lost"
    return f"{count} agents killed in a step: {told}"


def make_and_close(server: Server, count: int) -> str:
    """Makes and closes vectors; returns what was found."""
    found: list[tuple[int, int]] = []
    # Keeps the process of the sessions alive.
    held = RemoteVectorEnv(server.target, ID, 1, **{**SHARED, "device": None})
    for number in range(count):
        env = RemoteVectorEnv(server.target, ID, 64, **SHARED)
        env.reset(seed=1)
        env.close()
        if number in {count // 4, count - 1}:
            found.append((free(), len(os.listdir("/proc/self/fd"))))
    held.close()
    (before, files), (after, open_now) = found[0], found[-1]
    return f"{count} makes: {before - after} MiB lost, {files} descriptors, then {open_now}"


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def sessions(server: Server) -> list[int]:
    """Returns the processes of a server's sessions."""
    return [child for forkserver in children(server.pid) for child in children(forkserver)]


def kill_sessions(server: Server) -> None:
    """Kills the processes of a server's sessions."""
    for session in sessions(server):
        with contextlib.suppress(OSError):
            os.kill(session, signal.SIGKILL)


def main() -> None:
    """Prints the table, and what faults left behind."""
    short = not ON_GPU
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=2 if short else 5)
    options.add_argument(
        "--seconds", type=float, default=0.05 if short else 0.4, help="Of each case in each round."
    )
    options.add_argument("--kills", type=int, default=2 if short else 10)
    options.add_argument("--makes", type=int, default=8 if short else 200)
    given = options.parse_args()
    small = f"no GPU, {platform.machine()}; vectors of 1/{DIVISOR}, so not the table for a GPU"
    card = torch.cuda.get_device_name() if ON_GPU else small
    print(f"{card}, {dt.date.today()}; times of local\n", flush=True)
    print("| vector | local | " + " | ".join(SERVED) + " | equal |")
    print("|---" * (len(SERVED) + 3) + "|", flush=True)
    settings: dict[str, Any] = {
        "imports": ["benchmarks.device_envs"],
        "sys_path": (".",),
        "step_timeout": 120.0,
        "max_envs_per_session": 1 << 17,
    }
    with (
        Server(["bench/*"], shared_memory=0, **settings) as plain,
        Server(["bench/*"], **settings) as sharing,
        Server(["bench/*"], sessions_per_process=8, **settings) as packed,
    ):
        for name in VECTORS:
            servers = {False: plain, True: sharing}
            print(measure(name, servers, given.rounds, given.seconds), flush=True)
        print()
        print(make_and_close(packed, given.makes), flush=True)
        print(environments_killed(plain, given.kills), flush=True)
        print(agents_killed(plain, given.kills), flush=True)


if __name__ == "__main__":
    main()
