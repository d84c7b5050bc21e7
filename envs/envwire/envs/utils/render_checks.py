"""Checks of declared render modes, and of what `render` returns in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from envwire.envs.type_guards import is_array
from envwire.envs.utils.reporting import require, warn_unless

if TYPE_CHECKING:
    from collections.abc import Callable

    from envwire.envs.core import Env, RenderFrame


def env_render_passive_checker(env: Env) -> RenderFrame | list[RenderFrame] | None:
    """Checks the declared render modes, calls ``env.render()``, checks and returns its result.

    Raises:
        AssertionError: The environment is in a mode that it does not declare, or declares a
            ``render_fps`` of 0 or less.
    """
    modes = env.metadata.get("render_modes")
    if modes is None:
        warn_unless(False, "No render modes was declared: metadata has no 'render_modes'.")
    else:
        _check_render_modes(modes)
        if modes:
            _check_render_fps(env.metadata.get("render_fps"))
        require(
            env.render_mode is None or env.render_mode in modes,
            f"The environment is in render mode {env.render_mode!r} but declares {modes}",
        )
    result = env.render()
    if env.render_mode is not None:
        _check_render_return(env.render_mode, result)
    return result


def _check_render_modes(modes: Any) -> None:
    if not isinstance(modes, list | tuple):
        warn_unless(False, f"Expects the render_modes to be a sequence, got {type(modes)}")
        return
    fits = all(isinstance(mode, str) for mode in cast("list[Any]", modes))
    warn_unless(fits, f"Expects all render modes to be strings, got {modes}")


def _check_render_fps(fps: Any) -> None:
    if fps is None:
        warn_unless(False, "No render fps was declared: metadata has no 'render_fps'.")
    elif not is_number(fps):
        warn_unless(False, f"Expects metadata['render_fps'] to be a number, got {type(fps)}")
    else:
        require(fps > 0, f"Expects metadata['render_fps'] to be greater than zero, got {fps}")


def _check_render_return(mode: str, result: Any) -> None:
    if mode.endswith("_list"):
        is_list = isinstance(result, list)
        warn_unless(is_list, f"Render mode `{mode}` should produce a list, got {type(result)}")
        for frame in cast("list[Any]", result) if is_list else ():
            _check_render_return(mode.removesuffix("_list"), frame)
    elif mode in _FRAME_CHECKS:
        kind, *details = _FRAME_CHECKS[mode]
        what = getattr(result, "dtype", None), getattr(result, "shape", None)
        for fits, expected in details if kind[0](result) else [kind]:
            warn_unless(fits(result), f"`{mode}` should {expected}, got {type(result)} {what}")


def _is_text(frame: Any) -> bool:
    return isinstance(frame, str)


#: The requirements on a frame of each mode: its type, and checks of frames of that type.
_FRAME_CHECKS: dict[str, tuple[tuple[Callable[[Any], bool], str], ...]] = {
    "human": ((lambda frame: frame is None, "return None"),),
    "rgb_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.dtype == np.uint8, "return an array of dtype uint8"),
        (lambda frame: frame.ndim == 3, "return an array with three axes"),
        (
            lambda frame: frame.ndim != 3 or frame.shape[2] == 3,
            "return an array whose last axis has 3 elements",
        ),
    ),
    "depth_array": (
        (is_array, "return a numpy array"),
        (lambda frame: frame.ndim == 2, "return an array with two axes"),
    ),
    "ansi": ((_is_text, "return a str"),),
    "ascii": ((_is_text, "return a str"),),
}


def is_number(value: object) -> bool:
    """Whether a value is a Python or numpy number, not an array."""
    return isinstance(value, int | float | np.integer | np.floating) and value is not True
