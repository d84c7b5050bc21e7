"""Small environments for the tests of the core API."""

import contextlib

import numpy as np

import envwire.envs as gym
from envwire.envs import spaces

#: The built-in environments that Gymnasium has too.
SHARED_IDS = (
    "CartPole-v1",
    "Pendulum-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Acrobot-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
)
BUILT_IN_IDS = (*SHARED_IDS, "GridWorld-v0")


@contextlib.contextmanager
def empty_registry(library=gym):
    """Empties the registry of a library, and restores its content."""
    saved = dict(library.registry)
    library.registry.clear()
    try:
        yield
    finally:
        library.registry.clear()
        library.registry.update(saved)


class Walk(gym.Env):
    """A walk on a line: the action is the step, the observation where one is and when."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 7}

    def __init__(self, render_mode=None, goal=3.0):
        self.render_mode = render_mode
        self.goal = goal
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-0.5, 0.5), 0
        return np.array([self.x, self.t]), {"options": options}

    def step(self, action):
        self.x += float(action[0])
        self.t += 1
        ended = abs(self.x) >= self.goal
        return np.array([self.x, float(self.t)]), self.x, ended, False, {"t": self.t}

    def render(self):
        if self.render_mode == "ansi":
            return f"{self.x:.1f}"
        return np.full((4, 6, 3), self.t, np.uint8)

    def close(self):
        self.closed += 1


class Plain(gym.Wrapper):
    """A wrapper that changes nothing and does not record its arguments."""


class Scaled(gym.RewardWrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that records its arguments."""

    def __init__(self, env, factor):
        gym.utils.RecordConstructorArgs.__init__(self, factor=factor)
        gym.RewardWrapper.__init__(self, env)
        self.factor = factor

    def reward(self, reward):
        return reward * self.factor
