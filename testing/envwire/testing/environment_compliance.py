"""Compliance tests for environments, as a base class: what remote use requires of an environment.

The rules are those of Gymnasium's API. The last group runs the same actions on a local environment and on one behind
envwire's messages, and compares every value, type and bit.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

import numpy as np

from envwire.client import RemoteEnv
from envwire.envs.type_guards import is_array, is_dict
from envwire.server.inprocess import InProcessTransport
from envwire.testing.comparing import identical, rollout

#: The package of each library that registers environments.
_LIBRARIES = {"envwire": "envwire.envs", "gymnasium": "gymnasium"}


class EnvironmentCompliance:
    """Tests of one environment. Derive from it, name the environment, and let pytest collect the class.

    Attributes:
        env_id: Its id.
        imports: Modules that register it.
        kwargs: Keyword arguments of `make`.
        library: The library that registers it: "envwire" or "gymnasium".
        seeds: Seeds of the episodes to compare.
        steps: Number of steps in each rollout.
    """

    env_id: ClassVar[str]
    imports: ClassVar[Sequence[str]] = ()
    kwargs: ClassVar[Mapping[str, Any]] = {}
    library: ClassVar[str] = "envwire"
    seeds: ClassVar[Sequence[int]] = (0, 1, 2)
    steps: ClassVar[int] = 100

    def make(self) -> Any:
        """Makes the environment in this process. Override it to make the environment in another way."""
        for module in self.imports:
            importlib.import_module(module)
        return importlib.import_module(_LIBRARIES[self.library]).make(self.env_id, **self.kwargs)

    def make_remote(self) -> Any:
        """Makes the environment behind envwire's messages. Override it to use a server of your own."""
        transport = InProcessTransport([self.env_id], imports=self.imports)
        options: dict[str, Any] = {"transport": transport, "library": self.library}
        return RemoteEnv(None, self.env_id, env_kwargs=self.kwargs, **options)

    def test_the_library_finds_no_violation(self) -> None:
        """`check_env` of the environment's library raises nothing; its warnings do not count."""
        checker = importlib.import_module(f"{_LIBRARIES[self.library]}.utils.env_checker")
        with closing(self.make()) as env, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checker.check_env(env.unwrapped, skip_render_check=True)  # mode "human" opens a window

    def test_reset_returns_an_observation_of_the_space_and_an_info(self) -> None:
        """`reset` returns an observation from the space and an info, a dict with string keys."""
        with closing(self.make()) as env:
            observation, info = env.reset(seed=self.seeds[0])
            assert env.observation_space.contains(observation)
            assert _is_info(info)

    def test_step_returns_five_values(self) -> None:
        """`step` returns observation, reward, terminated, truncated and info, of the types that the API names."""
        with closing(self.make()) as env:
            for step in rollout(env, self.steps, self.seeds[0]):
                if len(step) == 2:
                    continue
                observation, reward, terminated, truncated, info = step
                assert env.observation_space.contains(observation)
                assert isinstance(reward, int | float | np.integer | np.floating)
                assert isinstance(terminated, bool | np.bool_)
                assert isinstance(truncated, bool | np.bool_)
                assert _is_info(info)

    def test_a_seed_decides_the_episode(self) -> None:
        """Two environments with the same seed and actions return the same results."""
        for seed in self.seeds:
            with closing(self.make()) as first, closing(self.make()) as second:
                assert identical(
                    rollout(first, self.steps, seed), rollout(second, self.steps, seed)
                )

    def test_a_reset_with_the_same_seed_begins_the_same_episode(self) -> None:
        """A seeded reset leaves no trace of an earlier episode."""
        with closing(self.make()) as env:
            first = rollout(env, self.steps, self.seeds[0])
            assert identical(first, rollout(env, self.steps, self.seeds[0]))

    def test_a_reset_without_a_seed_goes_on(self) -> None:
        """A reset without a seed goes on with the generator, instead of seeding it again."""
        states: list[Any] = []
        with closing(self.make()) as env:
            for seed in (1, 2):
                env.reset(seed=seed)
                env.reset()
                states.append(env.unwrapped.np_random.bit_generator.state)
        assert not identical(*states)

    def test_answers_are_fresh_objects(self) -> None:
        """A later step does not change the result of an earlier one."""
        with closing(self.make()) as env:
            env.action_space.seed(self.seeds[0])
            observation, info = env.reset(seed=self.seeds[0])
            later = env.step(env.action_space.sample())
            assert later[4] is not info
            assert not _shares_memory(observation, later[0])

    def test_closing_twice_is_harmless(self) -> None:
        """`close` may be called again."""
        env = self.make()
        env.close()
        env.close()

    def test_spaces_metadata_and_mode_are_the_same_remotely(self) -> None:
        """The proxy has the environment's spaces, metadata and render mode."""
        with closing(self.make()) as env, closing(self.make_remote()) as remote:
            assert repr(remote.observation_space) == repr(env.observation_space)
            assert repr(remote.action_space) == repr(env.action_space)
            assert identical(dict(remote.metadata), dict(env.metadata))
            assert remote.render_mode == env.render_mode

    def test_rollouts_are_the_same_remotely(self) -> None:
        """Every observation, reward, flag and info arrives with the same value, type and bits."""
        for seed in self.seeds:
            with closing(self.make()) as env, closing(self.make_remote()) as remote:
                assert identical(rollout(env, self.steps, seed), rollout(remote, self.steps, seed))

    def test_pictures_are_the_same_remotely(self) -> None:
        """In render mode "rgb_array", if there is one, frames are uint8 of shape (height, width, 3), the same here."""
        with closing(self.make()) as env:
            if "rgb_array" not in (env.metadata.get("render_modes") or ()):
                return
        kwargs = {**self.kwargs, "render_mode": "rgb_array"}
        drawn: EnvironmentCompliance = type("Drawn", (type(self),), {"kwargs": kwargs})()
        with closing(drawn.make()) as env, closing(drawn.make_remote()) as remote:
            env.reset(seed=self.seeds[0])
            remote.reset(seed=self.seeds[0])
            frame = env.render()
            assert is_array(frame)
            assert frame.dtype == np.uint8
            assert frame.ndim == 3
            assert frame.shape[2] == 3
            assert identical(frame, remote.render())


def _is_info(info: object) -> bool:
    return is_dict(info) and all(isinstance(key, str) for key in info)


def _shares_memory(first: Any, second: Any) -> bool:
    return is_array(first) and is_array(second) and np.shares_memory(first, second)
