"""Vector wrappers that change actions by a function of those actions alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envwire.envs._env import ActType, ArrayType, ObsType, WrapperActType
from envwire.envs.spaces import Space
from envwire.envs.spaces.batched_elements import iterate, stack
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.vector.vector_env import VectorActionWrapper, VectorEnv
from envwire.envs.wrappers import transform_action
from envwire.envs.wrappers.vector.vectorize_observation import SingleEnv, assign_spaces
from envwire.envs.wrappers.wrapped_spaces import Bound

__all__ = ["ClipAction", "RescaleAction", "TransformAction", "VectorizeTransformAction"]


class TransformAction(VectorActionWrapper[ObsType, WrapperActType, ActType, ArrayType]):
    """Steps with ``func(actions)``.

    Args:
        env: The vector environment to wrap.
        func: Maps batches of ``action_space`` to batches of the wrapped environment's.
        action_space: The batched space that agents choose from.
        single_action_space: The space of one sub-environment, of which it is a batch.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[Any] | None = None,
        single_action_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(env)
        assign_spaces(self, "action", action_space, single_action_space)
        self.func = func

    def actions(self, actions: WrapperActType) -> ActType:
        """Returns ``func(actions)``."""
        return self.func(actions)


class VectorizeTransformAction(VectorActionWrapper[ObsType, "Any", "Any", ArrayType]):
    """Applies a wrapper for single environments to each action.

    Args:
        env: The vector environment to wrap.
        wrapper: A `wrappers.TransformAction` or a subclass.
        **kwargs: The arguments of the wrapper.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, Any, ArrayType],
        wrapper: type[transform_action.TransformAction],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.wrapper = wrapper(SingleEnv(env), **kwargs)
        self.single_action_space = self.wrapper.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def actions(self, actions: Any) -> Any:
        """Returns a batch with each action changed."""
        each = (self.wrapper.func(action) for action in iterate(self.action_space, actions))
        return stack(self.env.single_action_space, each)


class ClipAction(VectorizeTransformAction[ObsType, ArrayType]):
    """Accepts any action and clips it to the wrapped environment's Box; see `wrappers.ClipAction`."""

    def __init__(self, env: VectorEnv[ObsType, Any, ArrayType]) -> None:
        super().__init__(env, transform_action.ClipAction)


class RescaleAction(VectorizeTransformAction[ObsType, ArrayType]):
    """Maps actions linearly onto the wrapped environment's Box; see `wrappers.RescaleAction`."""

    def __init__(
        self, env: VectorEnv[ObsType, Any, ArrayType], min_action: Bound, max_action: Bound
    ) -> None:
        bounds = {"min_action": min_action, "max_action": max_action}
        super().__init__(env, transform_action.RescaleAction, **bounds)
