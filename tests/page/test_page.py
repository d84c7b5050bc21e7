"""The live page in a real Chromium. `make test-page` runs it; PICTURES=DIR has it write those of README and docs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv, RemoteError, SessionLostError
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from tests.hosted_envs import Fault
from tests.page.fake_farm import fake_farm
from tests.secured import write_tokens

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
ENVWIRE = (sys.executable, "-m", "envwire")
PAINTED, FAULTY = "tests/Painted-v0", "tests/Faulty-v0"
SHOWN = ("CartPole-v1", "Pendulum-v1", "MountainCar-v0", "FrozenLake-v1", "Taxi-v4", "Acrobot-v1")


@contextmanager
def running(*arguments: str, token: str = "") -> Iterator[str]:
    """Runs a command of envwire until the end of the block; yields its address."""
    env = {**os.environ, "ENVWIRE_TOKEN": token}
    with subprocess.Popen(
        [*ENVWIRE, *arguments], stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1]
        finally:
            process.terminate()


def scenario(name: str, address: str, *arguments: str) -> Any:
    """Runs a scenario in the browser; returns its results."""
    command = ["node", f"{name}.mjs", address, *arguments]
    done = subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def stepping(envs: Sequence[RemoteEnv], choose: Callable[[RemoteEnv], Any]) -> Iterator[None]:
    """Steps environments in threads until the end of the block, or of their sessions."""
    stop = threading.Event()

    def step(env: RemoteEnv) -> None:
        env.reset(seed=1)
        with contextlib.suppress(RemoteError):  # an admin ends it
            while not stop.wait(0.02):
                *_, terminated, truncated, _ = env.step(choose(env))
                if terminated or truncated:
                    env.reset()

    threads = [threading.Thread(target=step, args=(env,)) for env in envs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_ten_thousand_sessions_and_texts_that_are_not_run() -> None:
    with fake_farm() as gateway, running("dashboard", gateway, "--port", "0") as address:
        times = scenario("many", address)
    print(
        f"calls of the page with 10,000 sessions: p50 {times['p50']:.0f} ms, p95 {times['p95']:.0f} ms"
    )


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    scopes = {"boss": [Scope.ADMIN], "guest": [Scope.OBSERVE, Scope.INSPECT]}
    return write_tokens(tmp_path / "tokens", scopes)


@pytest.fixture
def server(tmp_path: Path, tokens: dict[str, str]) -> Iterator[Server]:
    imports = ["tests.hosted_envs", "tests.operations.painted_envs"]
    with Server(
        [PAINTED, FAULTY],
        imports=imports,
        frames=True,
        count_episodes=True,
        tokens=str(tmp_path / "tokens"),
    ) as made:
        yield made


def painted(server: Server, token: str) -> RemoteEnv:
    credentials = Credentials(token=token)
    return RemoteEnv(
        server.target,
        PAINTED,
        render_mode="rgb_array",
        says="<b>bold words</b>",
        credentials=credentials,
    )


def test_a_session_is_watched_ended_and_looked_at_and_its_server_drained(
    server: Server, tokens: dict[str, str]
) -> None:
    lost = RemoteEnv(server.target, FAULTY, credentials=Credentials(token=tokens["boss"]))
    lost.reset(seed=1)
    with pytest.raises(SessionLostError):
        lost.step(Fault.PRINT_AND_ABORT)
    env = painted(server, tokens["boss"])
    with (
        running("dashboard", server.target, "--port", "0", token=tokens["boss"]) as address,
        stepping([env], lambda _: 0),
    ):
        scenario("live", address)


def test_a_guest_ends_nothing(server: Server, tokens: dict[str, str]) -> None:
    env = painted(server, tokens["boss"])
    with running("dashboard", server.target, "--port", "0", token=tokens["guest"]) as address:
        assert scenario("guest", address) == {"refusals": [403, 401, 401]}
    env.reset(seed=1)
    env.close()


def test_pictures(tmp_path: Path) -> None:
    directory = Path(os.environ.get("PICTURES", tmp_path)).absolute()
    with ExitStack() as stack:
        farm = running("farm", "up", "-n", "4", "--port", "0", "--frames", *SHOWN)
        gateway = stack.enter_context(farm)
        envs = [
            RemoteEnv(gateway, SHOWN[i % len(SHOWN)], render_mode="rgb_array") for i in range(12)
        ]
        stack.enter_context(stepping(envs, lambda env: env.action_space.sample()))
        address = stack.enter_context(running("dashboard", gateway, "--port", "0"))
        scenario("pictures", address, str(directory))
    taken = {path.name for path in directory.glob("page-*.png")}
    assert taken == {f"page-{name}.png" for name in ("farm", "sessions", "session", "wall")}
