"""Imported by one group: registers its environment."""

from __future__ import annotations

import envwire.envs as gym
from tests.groups.hosted import Report

gym.register("groups/Two-v0", Report)
