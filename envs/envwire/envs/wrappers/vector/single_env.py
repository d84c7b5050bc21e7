"""A placeholder environment with the spaces of one sub-environment, for single wrappers to wrap."""

from __future__ import annotations

from typing import Any

from envwire.envs import logger
from envwire.envs.core import Env
from envwire.envs.spaces import Space
from envwire.envs.spaces.batches.spaces import batch_space
from envwire.envs.vector.vector_env import VectorWrapper


class SingleEnv(Env[Any, Any]):
    """Has the spaces of one sub-environment of ``env``."""

    def __init__(self, env: Any) -> None:
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space


def assign_spaces(
    wrapper: VectorWrapper[Any, Any, Any, Any, Any],
    kind: str,
    batched: Space[Any] | None,
    single: Space[Any] | None,
) -> None:
    """Sets the ``kind`` of spaces of a wrapper, and warns if the batch is not one of the single.

    Args:
        wrapper: The vector wrapper.
        kind: ``"action"`` or ``"observation"``.
        batched: The batched space; a batch of ``single`` if there is none.
        single: The space of one sub-environment; unchanged if there is none.
    """
    if single is not None:
        setattr(wrapper, f"single_{kind}_space", single)
        batched = batch_space(single, wrapper.num_envs) if batched is None else batched
    if batched is not None:
        setattr(wrapper, f"{kind}_space", batched)
    expected = batch_space(getattr(wrapper, f"single_{kind}_space"), wrapper.num_envs)
    actual = getattr(wrapper, f"{kind}_space")
    if actual != expected:
        logger.warn("%s", f"The {kind} space of {wrapper} is {actual}, not the batch {expected}")
