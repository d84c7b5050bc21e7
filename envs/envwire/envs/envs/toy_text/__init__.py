"""Small grid worlds."""

from envwire.envs.envs.toy_text.frozen_lake import FrozenLakeEnv
from envwire.envs.envs.toy_text.grid_world import GridWorldEnv

__all__ = ["FrozenLakeEnv", "GridWorldEnv"]
