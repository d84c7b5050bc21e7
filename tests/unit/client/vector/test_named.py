"""The class of a vector names what stable-baselines3 takes instead, since that prints the class that it refuses."""

from __future__ import annotations

import envwire.client.gymnasium
from envwire.client import RemoteVectorEnv


def test_the_class_names_what_stable_baselines3_takes() -> None:
    for vector in (RemoteVectorEnv, envwire.client.gymnasium.RemoteVectorEnv):
        assert f"{vector}".startswith(
            f"<class '{vector.__module__}.RemoteVectorEnv'; stable-baselines3 takes "
        )
        assert "envwire.client.stable_baselines3.RemoteVecEnv" in f"{vector}"
