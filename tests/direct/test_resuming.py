"""After connections break, the episode continues, and no step is lost or taken twice."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import (
    RemoteEnv,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionClosedError,
    SessionLostError,
)
from envwire.server import Server
from envwire.testing.comparing import identical
from envwire.wire.local_channel import ORDERED
from tests.direct.detour import through
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Cut, How, Relay
from tests.faults.scene import active, alive, eventually, resumed
from tests.hosted_envs import Fault


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.client._session.resuming._FIRST_PAUSE", 0.001)
    monkeypatch.setattr("envwire.client._session.resuming._MAX_PAUSE", 0.02)


class Scene:
    """An environment behind a relay."""

    def __init__(self, server: Server, *cuts: Cut, **kwargs: Any) -> None:
        self.relay = Relay(cuts)
        settings: dict[str, Any] = {"env_id": FRAMES, "lease": 30.0, **kwargs}
        self.env = RemoteEnv(None, transport=through(self.relay, server.target), **settings)

    def close(self) -> None:
        with contextlib.suppress(ServerUnavailableError):
            self.env.close()
        self.relay.close()


@pytest.fixture
def scenes(direct: Server) -> Iterator[Any]:
    made: list[Scene] = []

    def make(*cuts: Cut, **kwargs: Any) -> Scene:
        made.append(Scene(direct, *cuts, **kwargs))
        return made[-1]

    yield make
    for scene in made:
        scene.close()


def copied(result: Any) -> Any:
    return (np.array(result[0]), *result[1:])


def play(env: Any, steps: int) -> list[Any]:
    """Returns all that an environment answers in an episode, but the number of its process."""
    seen = [np.array(env.reset(seed=5)[0])]
    return seen + [copied(env.step(step % 4)) for step in range(steps)]


def expected(steps: int, **kwargs: Any) -> list[Any]:
    return play(gym.make(FRAMES, **kwargs), steps)


#: Bytes of the preamble and the hello, and of the welcome.
UP, DOWN = 8 + 16 + 56 + 2 * ORDERED, 16 + 10
SHAPES = {"small": (4,), "large": (20, 1000)}
PLACES = {
    "hello": [(True, after) for after in (0, 7, 8, 23, UP - 1)],
    "request": [(True, after) for after in (UP, UP + 1, UP + 15, UP + 16, UP + 40)],
    "welcome": [(False, after) for after in (0, 5, 16, DOWN - 1)],
    "reply": [(False, after) for after in (DOWN, DOWN + 1, DOWN + 15, DOWN + 16, DOWN + 30)],
    "array": [(False, after) for after in (DOWN + 60, DOWN + 200, DOWN + 5000, DOWN + 20_000)],
    "later": [(up, after) for up in (True, False) for after in (UP + 200, UP + 201, UP + 333)],
}
RUNS = [
    (place, shape) for place in PLACES for shape in SHAPES if (place, shape) != ("array", "small")
]


@pytest.mark.parametrize("how", [How.RESET, How.HALF_CLOSE], ids=lambda how: how.value)
@pytest.mark.parametrize(("place", "shape"), RUNS)
def test_an_episode_survives_cuts_at_any_byte(
    scenes: Any, place: str, shape: str, how: How
) -> None:
    """Each connection is cut once, while a request or its answer is on the way."""
    cuts = [Cut(upwards, after, how) for upwards, after in PLACES[place]]
    # The first connection is opened when the environment is made, which does not try twice.
    scene = scenes(Cut(True, UP + 60, how), *cuts, shape=SHAPES[shape])
    assert identical(play(scene.env, 60), expected(60, shape=SHAPES[shape]))
    assert scene.relay.taken == len(cuts) + 2, "every connection but the last was cut"


@pytest.mark.parametrize(
    "kwargs", [{"chatty": True}, {"uneven": True}, {"shape": (200, 1000)}], ids=str
)
def test_an_episode_survives_cuts_between_its_steps(scenes: Any, kwargs: dict[str, Any]) -> None:
    kwargs = {"shape": SHAPES["large"], **kwargs}
    scene, local = scenes(**kwargs), gym.make(FRAMES, **kwargs)
    assert identical(np.array(scene.env.reset(seed=1)[0]), np.array(local.reset(seed=1)[0]))
    for step in range(12):
        if step % 2:
            scene.relay.cut()
        assert identical(copied(scene.env.step(step % 4)), copied(local.step(step % 4)))
    assert scene.relay.taken == 7


def test_kept_arrays_survive_a_cut(scenes: Any) -> None:
    scene = scenes(shape=SHAPES["large"])
    kept = [scene.env.reset(seed=5)[0]]
    for step in range(6):
        scene.relay.cut()
        kept.append(scene.env.step(step % 4)[0])
    assert identical(
        kept,
        [seen if not i else seen[0] for i, seen in enumerate(expected(6, shape=SHAPES["large"]))],
    )


FAULTY: dict[str, Any] = {"env_id": "tests/Faulty-v0"}


@contextlib.contextmanager
def meanwhile(scene: Scene, act: Callable[[], object]) -> Generator[None]:
    """Does something as soon as the next request is on its way."""
    sent = scene.relay.passed[True]

    def run() -> None:
        scene.relay.wait(True, sent)
        act()

    actor = Thread(target=run)
    actor.start()
    yield
    actor.join()


def test_a_cut_under_a_step_waits_for_the_step_and_does_not_repeat_it(scenes: Any) -> None:
    scene = scenes(**FAULTY)
    scene.env.reset()
    with meanwhile(scene, scene.relay.cut):
        assert scene.env.step(int(Fault.SLEEP))[4] == {"steps": 1}
    assert scene.relay.taken > 1
    assert scene.env.step(0)[4] == {"steps": 2}


def assert_taken_at_most_once(env: Any, before: int) -> int:
    """Steps after a step that may not have got as far as the environment, and returns how many were taken."""
    steps: int = env.step(0)[4]["steps"]
    assert steps - before in {1, 2}
    assert env.step(0)[4] == {"steps": steps + 1}
    return steps + 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Has SIGINT interrupt, which a shell makes its background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_wait_leaves_an_environment_that_goes_on(scenes: Any) -> None:
    scene = scenes(**FAULTY)
    scene.env.reset()
    interrupt = partial(signal.pthread_kill, threading.get_ident(), signal.SIGINT)
    steps = 0
    for _ in range(2):
        with meanwhile(scene, interrupt), pytest.raises(KeyboardInterrupt):
            scene.env.step(int(Fault.SLEEP))
        steps = assert_taken_at_most_once(scene.env, steps)


@pytest.mark.parametrize("moment", ["next_request", "receive"])
def test_an_interrupt_beside_a_wait_leaves_an_environment_that_goes_on(
    scenes: Any, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the request was sent, and after its reply was received."""
    env = scenes(timeout=5.0, **FAULTY).env
    env.reset()
    env.step(int(Fault.NONE))
    session = env._handle.driver.session
    method = getattr(session, moment)

    def interrupted(*args: Any) -> None:
        monkeypatch.undo()
        if moment == "next_request":
            method(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, moment, interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(int(Fault.NONE))
    assert env.step(int(Fault.NONE))[-1]["steps"] == 3
    assert resumed(env) == 0


@pytest.mark.parametrize(
    "swallowed", [(True, UP + 18), (False, DOWN + 20)], ids=["request", "reply"]
)
def test_a_timeout_leaves_an_environment_that_goes_on(scenes: Any, swallowed: Any) -> None:
    """A step whose request was swallowed was not taken; one whose reply was swallowed was."""
    upwards, after = swallowed
    scene = scenes(Cut(upwards, after, How.SWALLOW), timeout=0.3, **FAULTY)
    with pytest.raises(RequestTimeoutError, match=r"0\.3 s"):
        scene.env.reset()
    assert scene.env.reset()[0] == [0.0]
    assert [scene.env.step(0)[4]["steps"] for _ in range(3)] == [1, 2, 3]
    assert scene.relay.taken == 2


def test_a_step_that_timed_out_is_taken_at_most_once(scenes: Any) -> None:
    scene = scenes(timeout=0.3, **FAULTY)
    scene.env.reset()
    with pytest.raises(RequestTimeoutError):
        scene.env.step(int(Fault.SLEEP))

    def goes_on() -> bool:
        try:
            scene.env.render()
        except (RequestTimeoutError, ServerUnavailableError):
            return False
        return True

    assert eventually(goes_on), "the session is busy for a while yet, and then goes on"
    assert_taken_at_most_once(scene.env, 0)


def test_an_error_of_the_environment_is_told_once_whatever_happens_to_its_reply(
    scenes: Any,
) -> None:
    scene = scenes(Cut(False, DOWN + 120), **FAULTY)
    scene.env.reset()
    with pytest.raises(ValueError, match="the wheel fell off"):
        scene.env.step(int(Fault.RAISE))
    assert scene.env.step(0)[4] == {"steps": 1}
    assert scene.relay.taken == 2


def test_what_became_of_a_session_is_told_when_the_client_comes_back(scenes: Any) -> None:
    scene = scenes(**FAULTY)
    pid = scene.env.reset()[1]["pid"]
    scene.relay.cut()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        scene.env.step(0)
    with pytest.raises(SessionClosedError):
        scene.env.step(0)
    assert scene.env.reset()[0] == [0.0]


def test_a_client_that_is_cut_off_for_good_frees_its_slot_and_is_told(
    scenes: Any, direct: Server
) -> None:
    before = active(direct.target)
    scene = scenes(lease=0.5, **FAULTY)
    pid = scene.env.reset()[1]["pid"]
    upstream, scene.relay.upstream = scene.relay.upstream, 0
    scene.relay.cut()
    assert active(direct.target) == before + 1, "the lease runs"
    assert eventually(lambda: active(direct.target) == before and not alive(pid))
    with pytest.raises(ServerUnavailableError):
        scene.env.step(0)
    scene.relay.upstream = upstream
    with pytest.raises(SessionLostError, match=r"lease of 0\.5 s"):
        scene.env.step(0)
