"""What the built-in environments render with: their metadata, and a canvas of RGB pixels.

The canvas draws polygons, discs and lines without anti-aliasing, by numpy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import logger, vector
from envwire.envs.core import Env

Color: TypeAlias = tuple[int, int, int]
Point: TypeAlias = tuple[float, float]
Frame: TypeAlias = NDArray[np.uint8]

BLACK: Color = (0, 0, 0)
WHITE: Color = (255, 255, 255)


def render_metadata(*modes: str, fps: int, **more: Any) -> dict[str, Any]:
    """The ``metadata`` of an environment with these render modes and frames per second."""
    return {"render_modes": list(modes), "render_fps": fps, **more}


def is_unrendered(env: Env | vector.VectorEnv) -> bool:
    """Returns whether `render` was called on an environment without a render mode, and warns of it."""
    if env.render_mode is not None:
        return False
    modes = env.metadata["render_modes"]
    logger.warn(
        f"render() does nothing on {env} because it was made without a render_mode; "
        f"pass one of {modes}"
    )
    return True


class Canvas:
    """A picture being drawn. Points are in pixels, x to the right and y up from the lower left.

    Args:
        width: In pixels.
        height: In pixels.
        background: The colour to begin with.
    """

    def __init__(self, width: int, height: int, background: Color = WHITE) -> None:
        self._pixels = np.full((height, width, 3), background, dtype=np.uint8)

    def frame(self) -> Frame:
        """Returns the picture as a fresh array of shape (height, width, 3), the top row first."""
        return np.ascontiguousarray(self._pixels[::-1])

    def polygon(self, points: Sequence[Point], color: Color) -> None:
        """Fills a convex polygon."""
        corners = np.asarray(points, dtype=np.float64)
        window, x, y = self._window(corners.min(axis=0), corners.max(axis=0))
        ahead = np.roll(corners, -1, axis=0)
        sides = [
            (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            for (ax, ay), (bx, by) in zip(corners, ahead, strict=True)
        ]
        # A pixel is inside when it is on the same side of every edge, whichever way they turn.
        inside = np.all([side >= 0 for side in sides], axis=0)
        window[inside | np.all([side <= 0 for side in sides], axis=0)] = color

    def rectangle(self, lower_left: Point, upper_right: Point, color: Color) -> None:
        """Fills a rectangle with sides along the axes."""
        window, _, _ = self._window(np.asarray(lower_left), np.asarray(upper_right))
        window[...] = color

    def disc(self, center: Point, radius: float, color: Color) -> None:
        """Fills a circle."""
        middle = np.asarray(center, dtype=np.float64)
        window, x, y = self._window(middle - radius, middle + radius)
        window[(x - middle[0]) ** 2 + (y - middle[1]) ** 2 <= radius**2] = color

    def polyline(self, points: Sequence[Point] | NDArray[np.float64], color: Color) -> None:
        """Draws a line of one pixel through ``points``."""
        corners: NDArray[np.float64] = np.asarray(points, dtype=np.float64)
        steps = np.diff(corners, axis=0)
        lengths = np.hypot(steps[:, 0], steps[:, 1])
        travelled = np.concatenate((np.zeros(1), np.cumsum(lengths)))
        total = float(travelled[-1])
        # Two samples a pixel leave no gaps.
        samples: NDArray[np.float64] = np.linspace(0.0, total, 2 * int(total) + 2)
        x = np.rint(np.interp(samples, travelled, corners[:, 0])).astype(np.int64)
        y = np.rint(np.interp(samples, travelled, corners[:, 1])).astype(np.int64)
        height, width, _ = self._pixels.shape
        seen = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        self._pixels[y[seen], x[seen]] = color

    def _window(
        self, lower: NDArray[Any], upper: NDArray[Any]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The part of the picture between two corners, and the x and y of its pixels."""
        height, width, _ = self._pixels.shape
        limits = np.array((width, height))
        left, bottom = np.minimum(np.maximum(np.floor(lower), 0), limits).astype(int).tolist()
        right, top = np.minimum(np.maximum(np.ceil(upper) + 1, 0), limits).astype(int).tolist()
        y, x = np.ogrid[bottom:top, left:right]
        return self._pixels[bottom:top, left:right], x, y


def rotate(points: Sequence[Point], angle: float, offset: Point = (0.0, 0.0)) -> list[Point]:
    """Turns points around the origin by ``angle`` rad, counter-clockwise, and then moves them."""
    cos, sin = np.cos(angle), np.sin(angle)
    dx, dy = offset
    return [(float(x * cos - y * sin + dx), float(x * sin + y * cos + dy)) for x, y in points]
