"""`Conformance/Echo-v0`: returns its actions and options."""

from __future__ import annotations

import warnings
from typing import Any, cast

from envwire.envs import spaces
from envwire.envs._generic import Info, Options
from envwire.envs.core import Env


class EchoEnv(Env[Any, Any]):
    """An observation is the action, of any type; an info is the options.

    A dictionary may say what a step returns: ``"echo"`` is the observation, ``"reward"``, ``"terminated"``,
    ``"truncated"`` and ``"info"`` are returned as they are, and ``"warn"`` is the text of a warning.
    """

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None, value: Any = None) -> None:
        self.render_mode = render_mode
        self.value: Any = value

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Returns ``options["observation"]``, or else 0, and the options."""
        super().reset(seed=seed, options=options)
        info: dict[str, Any] = {} if options is None else options
        return info.get("observation", 0), info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Returns the action."""
        said = cast("dict[str, Any]", action) if isinstance(action, dict) else {}
        if "warn" in said:
            warnings.warn(said["warn"], UserWarning, stacklevel=1)
        return (
            said.get("echo", cast("Any", action)),
            said.get("reward", 0.0),
            said.get("terminated", False),
            said.get("truncated", False),
            said.get("info", {}),
        )

    def repeat(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the arguments."""
        return {"args": args, "kwargs": kwargs}
