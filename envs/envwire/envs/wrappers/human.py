"""Displays for rendered frames: a window where possible, the terminal otherwise."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import logger

Frame: TypeAlias = NDArray[np.uint8]


class Display:
    """A display for frames, uint8 of shape (height, width, 3), one after another; this one shows nothing."""

    def show(self, frame: Frame) -> None:
        """Replaces the last frame by this one."""

    def close(self) -> None:
        """Closes the display."""


class TerminalDisplay(Display):
    """Draws with half blocks, two pixels to a character, in 24-bit colour.

    Args:
        stream: Where to write; standard output by default.
        columns: The width of the picture in characters.
    """

    def __init__(self, stream: TextIO | None = None, columns: int = 80) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._columns = columns
        self._lines = 0

    def show(self, frame: Frame) -> None:
        """Draws over the frame before."""
        height, width, _ = frame.shape
        columns = min(self._columns, width)
        rows = max(1, round(columns * height / width / 2))
        y = np.arange(2 * rows) * height // (2 * rows)
        x = np.arange(columns) * width // columns
        pairs = np.reshape(frame[y][:, x], (rows, 2, columns, 3))
        cells = np.reshape(np.swapaxes(pairs, 1, 2), (rows, columns, 6))
        up = f"\x1b[{self._lines}A" if self._lines else ""
        self._stream.write(up + "".join(map(_line, cells.tolist())))
        self._stream.flush()
        self._lines = rows

    def close(self) -> None:
        """Leaves the last frame where it is."""
        self._lines = 0


def _line(cells: list[list[int]]) -> str:
    text = (
        f"\x1b[38;2;{r};{g};{b};48;2;{low_r};{low_g};{low_b}m\N{UPPER HALF BLOCK}"
        for r, g, b, low_r, low_g, low_b in cells
    )
    return "".join(text) + "\x1b[0m\n"


class WindowDisplay(Display):
    """Shows frames in a window of pygame's.

    Raises:
        ImportError: pygame is not installed.
    """

    def __init__(self) -> None:
        import importlib

        self._pygame: Any = importlib.import_module("pygame")
        self._window: Any = None

    def show(self, frame: Frame) -> None:
        """Opens the window for the first frame, and draws."""
        pygame, picture = self._pygame, np.swapaxes(frame, 0, 1)
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode(picture.shape[:2])
        self._window.blit(pygame.surfarray.make_surface(picture), (0, 0))
        pygame.event.pump()
        pygame.display.flip()

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._pygame.display.quit()
            self._window = None


def default_display(stream: TextIO | None = None, platform: str = sys.platform) -> Display:
    """Returns a window if there are pygame and a screen, else the terminal, else a display that shows nothing.

    Args:
        stream: What may be the terminal; standard output by default.
        platform: The system; by default, this one.
    """
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    if platform in ("win32", "darwin") or any(name in os.environ for name in screens):
        with contextlib.suppress(ImportError):
            return WindowDisplay()
    if (sys.stdout if stream is None else stream).isatty():
        return TerminalDisplay(stream)
    logger.warn(
        "render_mode='human' has nowhere to show: standard output is no terminal, and there is no screen with "
        "pygame. Use render_mode='rgb_array' to get the frames."
    )
    return Display()  # no escape codes may be written to a file or a pipe


class Pacer:
    """Waits, so that calls happen at a fixed rate.

    Args:
        per_second: The rate, per second.
        clock: Monotonic time, in seconds.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._period = 1.0 / per_second
        self._due = 0.0

    def wait(self) -> None:
        """Sleeps until the next turn; a late turn does not make the next one earlier."""
        now = self._clock()
        if now < self._due:
            self._sleep(self._due - now)
        self._due = max(now, self._due) + self._period
