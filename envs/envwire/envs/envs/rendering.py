"""Render metadata and warnings that the built-in environments share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envwire.envs import logger

if TYPE_CHECKING:
    from envwire.envs.core import Env
    from envwire.envs.vector.vector_env import VectorEnv


def render_metadata(*modes: str, fps: int, **more: Any) -> dict[str, Any]:
    """The ``metadata`` of an environment with these render modes and frames per second."""
    return {"render_modes": list(modes), "render_fps": fps, **more}


def is_unrendered(env: Env | VectorEnv) -> bool:
    """Returns whether `render` was called on an environment without a render mode, and warns of it."""
    if env.render_mode is not None:
        return False
    modes = env.metadata["render_modes"]
    logger.warn(
        f"render() does nothing on {env} because it was made without a render_mode; "
        f"pass one of {modes}"
    )
    return True
