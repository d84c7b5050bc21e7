"""Control problems with a few continuous state variables."""

from envwire.envs.envs.classic_control.acrobot import AcrobotEnv
from envwire.envs.envs.classic_control.cartpole import CartPoleEnv, CartPoleVectorEnv
from envwire.envs.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from envwire.envs.envs.classic_control.mountain_car import MountainCarEnv
from envwire.envs.envs.classic_control.pendulum import PendulumEnv

__all__ = [
    "AcrobotEnv",
    "CartPoleEnv",
    "CartPoleVectorEnv",
    "Continuous_MountainCarEnv",
    "MountainCarEnv",
    "PendulumEnv",
]
