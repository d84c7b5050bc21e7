"""The built-in environments, registered by entry point and imported when they are first made."""

from envwire.envs.envs.registration import make, pprint_registry, register, registry, spec

__all__ = ["make", "pprint_registry", "register", "registry", "spec"]

_CLASSIC = "envwire.envs.envs.classic_control"
_TOY_TEXT = "envwire.envs.envs.toy_text"

for _version, _steps, _threshold in ((0, 200, 195.0), (1, 500, 475.0)):
    register(
        f"CartPole-v{_version}",
        entry_point=f"{_CLASSIC}.cartpole:CartPoleEnv",
        vector_entry_point=f"{_CLASSIC}.cartpole:CartPoleVectorEnv",
        max_episode_steps=_steps,
        reward_threshold=_threshold,
    )

register(
    "MountainCar-v0",
    entry_point=f"{_CLASSIC}.mountain_car:MountainCarEnv",
    max_episode_steps=200,
    reward_threshold=-110.0,
)

register(
    "MountainCarContinuous-v0",
    entry_point=f"{_CLASSIC}.continuous_mountain_car:Continuous_MountainCarEnv",
    max_episode_steps=999,
    reward_threshold=90.0,
)

register("Pendulum-v1", entry_point=f"{_CLASSIC}.pendulum:PendulumEnv", max_episode_steps=200)

register(
    "Acrobot-v1",
    entry_point=f"{_CLASSIC}.acrobot:AcrobotEnv",
    max_episode_steps=500,
    reward_threshold=-100.0,
)

for _id, _map, _steps, _threshold in (
    ("FrozenLake-v1", "4x4", 100, 0.70),
    ("FrozenLake8x8-v1", "8x8", 200, 0.85),
):
    register(
        _id,
        entry_point=f"{_TOY_TEXT}.frozen_lake:FrozenLakeEnv",
        kwargs={"map_name": _map},
        max_episode_steps=_steps,
        reward_threshold=_threshold,
    )

register(
    "GridWorld-v0",
    entry_point=f"{_TOY_TEXT}.grid_world:GridWorldEnv",
    max_episode_steps=100,
    reward_threshold=1.0,
)
