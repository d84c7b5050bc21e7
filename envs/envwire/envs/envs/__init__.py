"""The built-in environments, registered by entry point and imported when they are first made."""

from typing import Any

from envwire.envs.envs.registration import make, pprint_registry, register, registry, spec

__all__ = ["make", "pprint_registry", "register", "registry", "spec"]

_CART_POLES: dict[str, Any] = {
    "vector_entry_point": f"{__name__}.classic_control.cartpole:CartPoleVectorEnv"
}
_SMALL_LAKE: dict[str, Any] = {"kwargs": {"map_name": "4x4"}}
_LARGE_LAKE: dict[str, Any] = {"kwargs": {"map_name": "8x8"}}

for _id, _entry_point, _steps, _threshold, _more in (
    ("CartPole-v0", "classic_control.cartpole:CartPoleEnv", 200, 195.0, _CART_POLES),
    ("CartPole-v1", "classic_control.cartpole:CartPoleEnv", 500, 475.0, _CART_POLES),
    ("MountainCar-v0", "classic_control.mountain_car:MountainCarEnv", 200, -110.0, {}),
    (
        "MountainCarContinuous-v0",
        "classic_control.continuous_mountain_car:Continuous_MountainCarEnv",
        999,
        90.0,
        {},
    ),
    ("Pendulum-v1", "classic_control.pendulum:PendulumEnv", 200, None, {}),
    ("Acrobot-v1", "classic_control.acrobot:AcrobotEnv", 500, -100.0, {}),
    ("FrozenLake-v1", "toy_text.frozen_lake:FrozenLakeEnv", 100, 0.70, _SMALL_LAKE),
    ("FrozenLake8x8-v1", "toy_text.frozen_lake:FrozenLakeEnv", 200, 0.85, _LARGE_LAKE),
    ("GridWorld-v0", "toy_text.grid_world:GridWorldEnv", 100, 1.0, {}),
):
    register(
        _id,
        entry_point=f"{__name__}.{_entry_point}",
        max_episode_steps=_steps,
        reward_threshold=_threshold,
        **_more,
    )
