"""The recovery of an environment whose session is lost, for each strategy, in one process."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from envwire.client import (
    RemoteEnv,
    ReplayError,
    ReplayMismatchError,
    SessionClosedError,
    SessionLostError,
)
from envwire.client._drivers import coroutines
from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._recovery.strategies import SHARD_STRATEGIES, STRATEGIES, RecoveryStrategy
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client.options import ConnectionOptions
from envwire.envs.wrappers import StickyAction
from envwire.server import InProcessTransport
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply
from tests.conftest import HOSTED
from tests.hosted_envs import Fault, Wavering
from tests.tiers import cross

FAULTY, WAVERING = "tests/Faulty-v0", "tests/Wavering-v0"


class Mortal(InProcessTransport):
    """A server in this process whose sessions can be killed, now or when a replay comes."""

    def __init__(self) -> None:
        super().__init__(HOSTED, imports=["tests.hosted_envs"])
        self.deaths_in_replays = 0

    @property
    def alive(self) -> int:
        return len(self._sessions)

    def kill(self) -> None:
        self.close_sessions()

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        if self.deaths_in_replays and pb.InteractRequest.FromString(request).HasField("replay"):
            self.deaths_in_replays -= 1
            self.kill()
        return super().exchange(request, timeout, header)


@pytest.fixture
def there() -> Mortal:
    return Mortal()


def remote(there: Mortal, env_id: str, on_lost: str, **kwargs: Any) -> RemoteEnv:
    return RemoteEnv(None, env_id, transport=there, on_lost=on_lost, **kwargs)


def run(env: Any, kill: Any = None, steps: int = 300, seed: int | None = 5) -> list[Any]:
    """Returns the answers of an environment that sometimes loses its session."""
    env.action_space.seed(5)
    seen: list[Any] = [env.reset(seed=seed)]
    for step in range(steps):
        if kill is not None and step % 70 == 45:
            kill()
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


def test_the_policies_are_named_when_there_is_no_such_one(there: Mortal) -> None:
    with pytest.raises(ValueError, match="raise, truncate, replay"):
        remote(there, "CartPole-v1", "ignore")


def test_environments_whose_losses_are_recovered_leave_a_server_that_is_about_to_stop() -> None:
    options = ConnectionOptions()
    moving = {name: make(options, None).moves for name, make in STRATEGIES.items()}
    of_shards = {name: make(options, None, 1).moves for name, make in SHARD_STRATEGIES.items()}
    assert moving == of_shards == {"raise": False, "truncate": True, "replay": True}


class Driven:
    """The driver of a session whose connection was made again three times."""

    session = SimpleNamespace(retries=SimpleNamespace(resumed=3))

    def __init__(self) -> None:
        self.pid = THIS_PROCESS.pid  # not that of the process that collected the tests
        self.blocking = self
        self.done: list[str] = []

    def kill(self) -> None:
        self.done.append("kill")

    def close(self) -> None:
        self.done.append("close")
        raise ValueError("the environment does not close")


@pytest.mark.parametrize("close", [False, True])
def test_a_handle_that_is_given_up_frees_its_connection_and_keeps_its_counters(close: bool) -> None:
    maker: Any = None
    driver: Any = Driven()
    handle = SessionHandle(maker, RecoveryStrategy(), "x")
    assert handle.stats.resumed == 0
    handle.driver = driver
    assert handle.stats.resumed == 3
    handle.kill(close=close)
    assert driver.done == ["close" if close else "kill"]
    assert handle.vacant
    assert handle.stats.resumed == 3


def test_a_request_goes_on_if_another_thread_has_left_the_server_meanwhile() -> None:
    class Session:
        """A session whose server's notice is seen once."""

        def __init__(self) -> None:
            self._notices = [["drain"]]

        @property
        def notices(self) -> list[str]:
            return self._notices.pop() if self._notices else []

    maker: Any = None
    serving: Any = SimpleNamespace(
        pid=THIS_PROCESS.pid, session=Session(), serve=lambda operation: f"served {operation}"
    )
    handle = SessionHandle(maker, RecoveryStrategy(), "x")
    handle.driver = serving
    operation: Any = "it"
    assert handle.serve(operation) == "served it"


def test_an_environment_that_is_made_as_a_new_one_is_another() -> None:
    class Handle(SessionHandle):
        async def _make_session(self, make: Any) -> Any:
            return make()

    maker: Any = SimpleNamespace(make=lambda _: pb.MakeResponse(session_id="x"))
    handle = Handle(maker, RecoveryStrategy(), "x")
    before = handle.generation
    assert coroutines.run(handle.make_new()).session_id == "x"
    assert handle.generation is not before


def test_raise_tells_and_reset_makes_another(there: Mortal) -> None:
    env = remote(there, "CartPole-v1", "raise")
    env.reset(seed=1)
    there.kill()
    with pytest.raises(SessionLostError):
        env.step(0)
    with pytest.raises(SessionClosedError):
        env.step(0)
    env.reset(seed=1)
    assert env.connection_stats == (0, 1, 0)


def test_truncate_ends_the_episode_once(there: Mortal) -> None:
    env = remote(there, "CartPole-v1", "truncate")
    first, _ = env.reset(seed=1)
    shown = env.step(0)[0]
    kept = shown.copy()
    shown[:] = 0  # it is the user's
    there.kill()
    observation, reward, terminated, truncated, info = env.step(0)
    assert identical(observation, kept)
    assert observation is not kept
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["lost"] is True
    assert "no session" in info["lost_reason"]
    with pytest.raises(SessionClosedError):
        env.step(0)
    assert identical(env.reset(seed=1)[0], first)
    assert env.step(0)[3] is False


def test_truncate_ends_the_episode_at_the_step_after_a_loss_that_something_else_found(
    there: Mortal,
) -> None:
    env = remote(there, "CartPole-v1", "truncate", render_mode="rgb_array")
    env.reset(seed=1)
    there.kill()
    with pytest.raises(SessionLostError):
        env.render()
    assert env.step(0)[4]["lost"]


def test_truncate_makes_again_what_a_reset_finds_lost(there: Mortal) -> None:
    env = remote(there, "CartPole-v1", "truncate")
    first = env.reset(seed=1)
    there.kill()
    assert identical(env.reset(seed=1), first)
    assert env.connection_stats == (0, 1, 1)


def test_truncate_has_nothing_to_end_before_the_first_reset(there: Mortal) -> None:
    env = remote(there, "CartPole-v1", "truncate")
    there.kill()
    with pytest.raises(SessionLostError):
        env.step(0)


@pytest.mark.parametrize(
    ("made", "seed"),
    cross(
        {
            "CartPole": ("CartPole-v1", {}),
            "FrozenLake": ("FrozenLake-v1", {}),
            "stacked": (
                "Pendulum-v1",
                {"wrappers": [("FrameStackObservation", {"stack_size": 3})]},
            ),
            "Awkward": ("tests/Awkward-v0", {}),
        },
        [5, None],
    ),
)
def test_replay_goes_on_as_if_nothing_had_happened(
    there: Mortal, made: tuple[str, dict[str, Any]], seed: int | None
) -> None:
    env_id, kwargs = made
    env = remote(there, env_id, "replay", **kwargs)
    twin = remote(there, env_id, "raise", **kwargs)
    if seed is None:  # what nobody chose is drawn once, and both begin with it
        twin.np_random = copy.deepcopy(env.np_random)
    expected = run(twin, seed=seed)
    seen = run(env, there.kill, seed=seed)
    assert str(seen) == str(expected)
    assert env.connection_stats == (0, 4, 4)


def test_an_episode_that_nobody_seeded_is_replayed_from_its_own_generator(there: Mortal) -> None:
    env = remote(there, "FrozenLake-v1", "replay")
    run(env, there.kill, seed=None)
    assert env.connection_stats == (0, 4, 4)
    env.close()
    run(env, there.kill, seed=None)
    assert env.connection_stats == (0, 8, 8)


def test_replay_keeps_the_generator_that_wrappers_draw_from(there: Mortal) -> None:
    def sticky(on_lost: str) -> Any:
        return StickyAction(remote(there, "FrozenLake-v1", on_lost), 0.3)

    expected = run(sticky("raise"))
    assert identical(run(sticky("replay"), there.kill), expected)


def test_replay_keeps_attributes_across_seeded_resets(there: Mortal) -> None:
    def heavy(on_lost: str) -> RemoteEnv:
        env = remote(there, "CartPole-v1", on_lost)
        env.reset(seed=2)
        env.step(1)
        env.set_wrapper_attr("gravity", 20.0)
        return env

    expected = run(heavy("raise"))
    assert identical(run(heavy("replay"), there.kill), expected)


def test_replay_repeats_what_failed_and_what_nobody_saw(there: Mortal) -> None:
    env = remote(there, FAULTY, "replay")
    env.reset(seed=1)
    assert env.step(0)[4] == {"steps": 1}
    with pytest.raises(ValueError, match="wheel"):
        env.step(int(Fault.RAISE))
    with pytest.raises(Exception, match="dict"):
        env.step(int(Fault.BAD_INFO))
    there.kill()
    assert env.step(0)[4] == {"steps": 3}


def test_replay_survives_losses_while_it_replays(there: Mortal) -> None:
    env = remote(there, FAULTY, "replay")
    env.reset(seed=1)
    env.step(0)
    there.kill()
    there.deaths_in_replays = 3
    assert env.step(0)[4] == {"steps": 2}
    there.kill()
    there.deaths_in_replays = 100
    with pytest.raises(SessionLostError):
        env.step(0)


def test_replay_refuses_an_environment_that_goes_its_own_way(there: Mortal) -> None:
    env = remote(there, WAVERING, "replay", certain=100)
    env.reset(seed=1)
    for _ in range(90):
        env.step(1)
    there.kill()
    for _ in range(110):
        env.step(1)
    there.kill()
    with pytest.raises(ReplayMismatchError, match="requests 65 to 128") as refused:
        env.step(1)
    assert (refused.value.first, refused.value.last) == (65, 128)
    assert not there.alive, "what went another way was closed"
    env.reset(seed=1)
    assert env.connection_stats == (0, 2, 1)


def test_replay_has_a_limit_that_a_seed_sets_back(there: Mortal) -> None:
    env = remote(there, FAULTY, "replay", replay_limit=10)
    env.reset(seed=1)
    for _ in range(9):
        env.step(0)
    there.kill()
    assert env.step(0)[4] == {"steps": 10}
    there.kill()
    with pytest.raises(ReplayError, match="replay_limit=10"):
        env.step(0)
    env.reset(seed=1)
    there.kill()
    assert env.step(0)[4] == {"steps": 1}


def test_a_recording_goes_in_as_many_messages_as_it_takes(
    there: Mortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._session.request_log._PART_BYTES", 2000)
    env = remote(there, "FrozenLake-v1", "replay")
    expected = run(remote(there, "FrozenLake-v1", "raise"))
    assert identical(run(env, there.kill), expected)


def test_a_long_recording_is_answered_in_parts(
    there: Mortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.server._session.replay.PART_SECONDS", -1.0)
    env = remote(there, "FrozenLake-v1", "replay")
    expected = run(remote(there, "FrozenLake-v1", "raise"), steps=100)
    assert identical(run(env, there.kill, steps=100), expected)


def test_frames_that_were_collected_are_there_again(there: Mortal) -> None:
    env = remote(there, "FrozenLake-v1", "replay", render_mode="rgb_array_list")
    env.reset(seed=1)
    env.step(0)
    assert len(env.render()) == 2
    env.step(0)
    there.kill()
    assert len(env.render()) == 1


def test_an_observation_that_is_no_array_is_kept_whole(there: Mortal) -> None:
    env = remote(there, "tests/Awkward-v0", "truncate")
    env.reset(seed=1)
    observation = env.step({"x": np.zeros((2, 3), np.float16)})[0]
    there.kill()
    assert identical(env.step({"x": np.zeros((2, 3), np.float16)})[0], observation)


def test_a_mismatch_is_told_even_if_the_environment_that_is_closed_raises(
    there: Mortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = remote(there, WAVERING, "replay", certain=1)
    env.reset(seed=1)
    assert env.np_random is not None, "read, and from now on mirrored"
    for _ in range(3):
        env.step(0)

    def close(_: Wavering) -> None:
        raise EOFError

    there.kill()
    monkeypatch.setattr(Wavering, "close", close)
    with pytest.raises(ReplayMismatchError):
        env.step(0)
