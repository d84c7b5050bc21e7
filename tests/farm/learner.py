"""A small PPO learner in numpy; a single wrong observation changes its weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = dict[str, Floats]

_DISCOUNT, _LAMBDA, _CLIP, _LEARNING_RATE = 0.99, 0.95, 0.2, 3e-3
_EPOCHS, _HIDDEN = 4, 32


class Rollout(NamedTuple):
    """Steps of all environments, [steps, environments] each; `valid` is 0 for those in which one was reset."""

    observations: Floats
    actions: NDArray[np.int64]
    chances: Floats
    values: Floats
    rewards: Floats
    ends: Floats
    valid: Floats


class Learner:
    """An actor and a critic with one hidden layer in common.

    Args:
        inputs: Numbers in an observation.
        actions: How many actions there are.
        seed: Of the first weights, and of the actions.
    """

    def __init__(self, inputs: int, actions: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        shapes = {"hidden": (inputs, _HIDDEN), "actor": (_HIDDEN, actions), "critic": (_HIDDEN, 1)}
        self.weights: Weights = {
            name: self._random.normal(0, 0.5 / np.sqrt(shape[0]), shape)
            for name, shape in shapes.items()
        }
        self._momentum = {name: np.zeros_like(each) for name, each in self.weights.items()}
        self._squares = {name: np.zeros_like(each) for name, each in self.weights.items()}
        self._updates = 0

    def _forward(self, observations: Floats) -> tuple[Floats, Floats, Floats]:
        """Returns the hidden layer, the chances of the actions, and the values."""
        hidden = np.tanh(observations @ self.weights["hidden"])
        scores = hidden @ self.weights["actor"]
        chances = np.exp(scores - scores.max(-1, keepdims=True))
        return (
            hidden,
            chances / chances.sum(-1, keepdims=True),
            (hidden @ self.weights["critic"])[..., 0],
        )

    def collect(self, envs: Any, observations: Any, steps: int) -> tuple[Rollout, Any]:
        """Steps the environments; returns what happened, and the last observations."""
        rows: list[tuple[Any, ...]] = []
        ended = np.zeros(envs.num_envs)
        for _ in range(steps):
            _, chances, values = self._forward(observations)
            drawn = self._random.random((envs.num_envs, 1))
            actions = np.minimum((chances.cumsum(-1) < drawn).sum(-1), chances.shape[-1] - 1)
            after, rewards, terminated, truncated, _ = envs.step(actions)
            chosen = np.take_along_axis(chances, actions[:, None], -1)[:, 0]
            now_ended = np.logical_or(terminated, truncated).astype(float)
            rows.append((observations, actions, chosen, values, rewards, now_ended, 1 - ended))
            observations, ended = after, now_ended
        return Rollout(*(np.stack(column) for column in zip(*rows, strict=True))), observations

    def learn(self, rollout: Rollout, last: Any) -> None:
        """Improves the weights by one rollout; `last` are the observations after it."""
        advantages = self._advantages(rollout, self._forward(last)[2])
        returns = advantages + rollout.values
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(_EPOCHS):
            self._descend(self._gradient(rollout, scaled, returns))

    def _advantages(self, rollout: Rollout, value: Floats) -> Floats:
        advantages, sofar = np.zeros_like(rollout.rewards), np.zeros_like(value)
        for step in reversed(range(len(advantages))):
            goes_on = 1 - rollout.ends[step]
            error = rollout.rewards[step] + _DISCOUNT * goes_on * value - rollout.values[step]
            sofar = error + _DISCOUNT * _LAMBDA * goes_on * sofar
            advantages[step], value = sofar, rollout.values[step]
        return advantages

    def _gradient(self, rollout: Rollout, advantages: Floats, returns: Floats) -> Weights:
        """Returns the gradient of the clipped objective and of the squared error of the values."""
        seen = rollout.observations
        hidden, chances, values = self._forward(seen)
        chosen = np.take_along_axis(chances, rollout.actions[..., None], -1)[..., 0]
        ratio = chosen / rollout.chances
        inside = np.where(advantages > 0, ratio < 1 + _CLIP, ratio > 1 - _CLIP)
        weight = rollout.valid / rollout.valid.sum()
        taken = np.eye(chances.shape[-1])[rollout.actions]
        scores = -(weight * inside * ratio * advantages)[..., None] * (taken - chances)
        error = (weight * (values - returns))[..., None]
        back = (scores @ self.weights["actor"].T + error @ self.weights["critic"].T) * (
            1 - hidden**2
        )
        pairs = {"hidden": (seen, back), "actor": (hidden, scores), "critic": (hidden, error)}
        return {name: np.einsum("tni,tnj->ij", *pair) for name, pair in pairs.items()}

    def _descend(self, gradient: Weights) -> None:
        """Takes a step of Adam."""
        self._updates += 1
        for name, slope in gradient.items():
            self._momentum[name] = 0.9 * self._momentum[name] + 0.1 * slope
            self._squares[name] = 0.999 * self._squares[name] + 0.001 * slope**2
            mean = self._momentum[name] / (1 - 0.9**self._updates)
            spread = np.sqrt(self._squares[name] / (1 - 0.999**self._updates)) + 1e-8
            self.weights[name] = self.weights[name] - _LEARNING_RATE * mean / spread
