"""A noisy camera far away: its pictures travel as JPEG files, which loses detail, and are decoded by the client."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import envwire.envs as gym
from envwire.client import RemoteEnv
from envwire.server import Server


class Camera(gym.Env[Any, Any]):
    """Shows a gradient, with the noise of a sensor."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0, 255, (480, 640, 3), np.uint8)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Looks for the first time."""
        super().reset(seed=seed, options=options)
        return self._picture(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Looks again."""
        return self._picture(), float(action), False, False, {}

    def _picture(self) -> Any:
        shades = np.linspace(60, 190, 640)[:, None] + self.np_random.normal(0, 2, (480, 640, 3))
        return shades.astype(np.uint8)


# [start:wrapper]
class JpegObservation(gym.ObservationWrapper[Any, int, Any]):
    """Turns pictures into JPEG files: arrays of as many bytes as each needs."""

    def __init__(self, env: Any, quality: int = 90) -> None:
        super().__init__(env)
        self._quality = quality
        byte = gym.spaces.Box(0, 255, (), np.uint8)
        self.observation_space = gym.spaces.Sequence(byte, stack=True)

    def observation(self, observation: Any) -> Any:
        """Encodes a picture."""
        file = io.BytesIO()
        Image.fromarray(observation).save(file, "JPEG", quality=self._quality)
        return np.frombuffer(file.getvalue(), np.uint8)


def decoded(observation: Any) -> Any:
    """Returns the picture in an observation, at the client."""
    return np.asarray(Image.open(io.BytesIO(observation.tobytes())))
    # [end:wrapper]


gym.register(id="lab/Camera-v0", entry_point="jpeg_camera:Camera")


def main() -> None:
    """Serves the camera and looks at it."""
    name, folder = "jpeg_camera:JpegObservation", str(Path(__file__).parent)
    settings: dict[str, Any] = {"imports": ["jpeg_camera"], "sys_path": (folder,)}
    with (
        Server(["lab/*"], allow_wrappers=[name], **settings) as server,
        RemoteEnv(server.target, "lab/Camera-v0", wrappers=[(name, {"quality": 80})]) as env,
    ):
        observation, _ = env.reset(seed=1)
        picture = decoded(observation)
        print(f"{picture.nbytes:,} bytes of picture came as {observation.nbytes:,}")


if __name__ == "__main__":
    main()
