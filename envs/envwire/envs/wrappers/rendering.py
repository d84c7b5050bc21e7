"""Rendering wrappers: they collect frames, display them, or add noise to them."""

from __future__ import annotations

from typing import Any, SupportsFloat, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import Env, RenderFrame, Wrapper
from envwire.envs.type_guards import is_array
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers.human import Display, Frame, Pacer, default_display
from envwire.envs.wrappers.utils import require_probability

__all__ = ["AddWhiteNoise", "HumanRendering", "ObstructView", "RenderCollection"]


def _metadata_with(env: Env[Any, Any], mode: str) -> dict[str, Any]:
    """A copy of the metadata of ``env`` with one more render mode."""
    from copy import deepcopy

    metadata = deepcopy(env.metadata)
    if mode not in metadata["render_modes"]:
        metadata["render_modes"] = [*metadata["render_modes"], mode]
    return metadata


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Renders after every reset and step; `render` returns the frames as a list.

    Args:
        env: The environment to wrap, in a mode that gives single frames.
        pop_frames: Whether `render` forgets the frames it returns.
        reset_clean: Whether `reset` forgets the frames of the episode before.

    Raises:
        ValueError: The environment does not render, or already gives lists.
    """

    def __init__(
        self, env: Env[ObsType, ActType], pop_frames: bool = True, reset_clean: bool = True
    ) -> None:
        RecordConstructorArgs.__init__(self, pop_frames=pop_frames, reset_clean=reset_clean)
        Wrapper.__init__(self, env)
        if env.render_mode is None or env.render_mode.endswith("_list"):
            raise ValueError(
                f"RenderCollection needs single frames, but render_mode is {env.render_mode!r}"
            )
        self.frame_list: list[RenderFrame] = []
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.render_mode = f"{env.render_mode}_list"
        self.metadata = _metadata_with(env, self.render_mode)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, and keeps a frame."""
        result = self.env.step(action)
        self._collect()
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, drops the last episode's frames if ``reset_clean``, and keeps the first frame."""
        result = self.env.reset(seed=seed, options=options)
        if self.reset_clean:
            self.frame_list = []
        self._collect()
        return result

    def render(self) -> list[RenderFrame]:
        """Returns the frames collected so far."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames

    def _collect(self) -> None:
        self.frame_list.append(cast("RenderFrame", self.env.render()))


class HumanRendering(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Shows the frames of an environment that renders arrays, after every reset and step.

    Args:
        env: The environment to wrap, with a ``render_fps`` in its metadata.

    Attributes:
        display: The display. Assign one before the first reset; by default it is a window, or the
            terminal if there cannot be one.

    Raises:
        ValueError: The environment does not render arrays, or has no ``render_fps``.
    """

    ACCEPTED_RENDER_MODES = ("rgb_array", "rgb_array_list")

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        Wrapper.__init__(self, env)
        if env.render_mode not in self.ACCEPTED_RENDER_MODES:
            raise ValueError(
                f"HumanRendering needs one of {self.ACCEPTED_RENDER_MODES}, "
                f"but render_mode is {env.render_mode!r}"
            )
        if "render_fps" not in env.metadata:
            raise ValueError(f"HumanRendering needs metadata['render_fps'], got {env.metadata}")
        self.render_mode = "human"
        self.metadata = _metadata_with(env, "human")
        self.display: Display | None = None
        self._pacer = Pacer(env.metadata["render_fps"])

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, and shows the state."""
        result = self.env.step(action)
        self._show()
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets, and shows the first state."""
        result = self.env.reset(seed=seed, options=options)
        self._show()
        return result

    def render(self) -> None:
        """Does nothing: `step` and `reset` have shown the state."""

    def close(self) -> None:
        """Closes the display and the wrapped environment."""
        if self.display is not None:
            self.display.close()
        self.env.close()

    def _show(self) -> None:
        rendered: Any = self.env.render()
        frame: Frame = rendered if is_array(rendered) else rendered[-1]
        if self.display is None:
            self.display = default_display()
        self._pacer.wait()
        self.display.show(frame)


def _noise(rng: np.random.Generator, shape: tuple[int, ...], grayscale: bool) -> Frame:
    """White noise for a frame of this shape; the numbers of draws are Gymnasium's."""
    if not grayscale:
        return rng.integers(0, 255, size=shape, dtype=np.uint8)
    highs = 255 * np.array([0.2989, 0.5870, 0.1140])
    channels = rng.integers((0, 0, 0), highs, size=shape, dtype=np.uint8)
    gray: Frame = np.sum(channels, axis=-1, keepdims=True)
    return np.repeat(gray, 3, axis=-1)


class AddWhiteNoise(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Replaces random pixels of rendered frames with noise.

    Args:
        env: The environment to wrap, rendering arrays.
        probability_of_noise_per_pixel: In [0, 1).
        is_noise_grayscale: Whether the noise is gray.

    Raises:
        InvalidProbability: The probability is not in [0, 1).
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        probability_of_noise_per_pixel: float,
        is_noise_grayscale: bool = False,
    ) -> None:
        require_probability("probability_of_noise_per_pixel", probability_of_noise_per_pixel)
        RecordConstructorArgs.__init__(
            self,
            probability_of_noise_per_pixel=probability_of_noise_per_pixel,
            is_noise_grayscale=is_noise_grayscale,
        )
        Wrapper.__init__(self, env)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> Frame:
        """Renders, with noise."""
        frame = cast("Frame", self.env.render())
        noise = _noise(self.np_random, frame.shape, self.is_noise_grayscale)
        mask = self.np_random.random(frame.shape[:2]) < self.probability_of_noise_per_pixel
        return np.where(mask[..., None], noise, frame)


class ObstructView(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Covers random squares of rendered frames with noise.

    Args:
        env: The environment to wrap, rendering arrays.
        obstructed_pixels_ratio: The part of the frame that is covered (overlaps count twice), in [0, 1).
        obstruction_width: The side of a square in pixels, at least 1.
        is_noise_grayscale: Whether the noise is gray.

    Raises:
        ValueError: The ratio or the width is out of range.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        obstructed_pixels_ratio: float,
        obstruction_width: int,
        is_noise_grayscale: bool = False,
    ) -> None:
        if not 0 <= obstructed_pixels_ratio < 1:
            raise ValueError(
                f"obstructed_pixels_ratio must be in [0, 1), got {obstructed_pixels_ratio}"
            )
        if obstruction_width < 1:
            raise ValueError(f"obstruction_width must be at least 1, got {obstruction_width}")
        RecordConstructorArgs.__init__(
            self,
            obstructed_pixels_ratio=obstructed_pixels_ratio,
            obstruction_width=obstruction_width,
            is_noise_grayscale=is_noise_grayscale,
        )
        Wrapper.__init__(self, env)
        self.obstruction_centers_ratio = obstructed_pixels_ratio / obstruction_width**2
        self.obstruction_width = obstruction_width
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> Frame:
        """Renders, with covered squares."""
        frame = cast("Frame", self.env.render())
        mask = self._squares(frame.shape[0], frame.shape[1])
        noise = _noise(self.np_random, frame.shape, self.is_noise_grayscale)
        return np.where(mask[..., None], noise, frame)

    def _squares(self, height: int, width: int) -> NDArray[np.bool_]:
        """Where the squares are, a bool array of shape (height, width)."""
        pixels = height * width
        count = int(pixels * self.obstruction_centers_ratio)
        centers = self.np_random.integers(0, pixels, count)
        mask = np.zeros((height, width), dtype=np.bool_)
        below = self.obstruction_width // 2
        above = self.obstruction_width - below
        for y, x in zip(*np.unravel_index(centers, (height, width)), strict=True):
            mask[max(y - below, 0) : y + above, max(x - below, 0) : x + above] = True
        return mask
