"""Render mode "human": the server renders arrays, and the client displays them in a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envwire.envs.wrappers.human import Display, Pacer, default_display

HUMAN = "human"
#: Render mode of the environment on the server, which has no display.
RENDERED = "rgb_array"
_DEFAULT_FPS = 30.0


class Viewer:
    """Displays frames at the rate that an environment's metadata gives.

    Args:
        metadata: The metadata; without "render_fps", the rate is 30 frames per second.

    Attributes:
        display: The display; by default a window, or the terminal if no window can be opened.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.display: Display | None = None
        self._pacer = Pacer(float(metadata.get("render_fps") or _DEFAULT_FPS))

    def show(self, frame: Any) -> None:
        """Displays a frame, uint8 of shape (height, width, 3).

        Raises:
            TypeError: The frame is not such an array.
        """
        if getattr(frame, "ndim", 0) != 3:
            raise TypeError(
                f"the environment rendered {type(frame).__name__} instead of an array of shape (height, width, 3), "
                f"which render_mode='human' needs. Make it with another render_mode"
            )
        if self.display is None:
            self.display = default_display()
        self._pacer.wait()
        self.display.show(frame)

    def close(self) -> None:
        """Closes the display; the next frame opens it again."""
        display, self.display = self.display, None
        if display is not None:
            display.close()
