"""LeRobot's environment type "envwire": a vector environment on an envwire server.

Importing this registers it; LeRobot imports every distribution whose name begins with `lerobot_env_`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lerobot.envs.configs import EnvConfig

from envwire.client.gymnasium import RemoteVectorEnv
from lerobot_env_envwire.features import features_of

__all__ = ["EnvwireEnv"]


@EnvConfig.register_subclass("envwire")
@dataclass
class EnvwireEnv(EnvConfig):
    """Environments of an envwire server; what they observe and take is read from it when they are made.

    Attributes:
        target: HOST:PORT of the server.
        env_id: Id of the environment there.
        kwargs: Keyword arguments of the environment.
        render_mode: Render mode, for LeRobot's videos; "" for none.
    """

    target: str = "localhost:50051"
    env_id: str = ""
    kwargs: dict[str, Any] = field(default_factory=dict)
    render_mode: str = "rgb_array"

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Keyword arguments of the environment."""
        return {**self.kwargs, "render_mode": self.render_mode or None}

    def create_envs(
        self, n_envs: int, use_async_envs: bool = False
    ) -> dict[str, dict[int, RemoteVectorEnv]]:
        """Makes the environments and fills in `features`, `features_map` and `fps`.

        Args:
            n_envs: How many.
            use_async_envs: Unused: the server's sessions step at the same time in any case.

        Raises:
            ValueError: LeRobot has no use for these spaces; the message says what it needs.
        """
        del use_async_envs
        envs = RemoteVectorEnv(
            self.target,
            self.env_id,
            n_envs,
            autoreset_mode="SAME_STEP",
            render_mode=self.render_mode or None,
            env_kwargs=self.kwargs,
        )
        try:
            spaces = envs.single_observation_space, envs.single_action_space
            self.features, self.features_map = features_of(*spaces)
        except BaseException:
            envs.close()
            raise
        self.task = self.env_id
        self.fps = int(envs.metadata.get("render_fps") or self.fps)
        return {self.type: {0: envs}}
