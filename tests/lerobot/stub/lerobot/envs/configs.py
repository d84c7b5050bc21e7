"""Stands for `lerobot.envs.configs` of LeRobot 0.6.1: the registry of environment types and their base."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from lerobot.configs import PolicyFeature

_T = TypeVar("_T", bound=type)


@dataclass
class EnvConfig(abc.ABC):
    choices: ClassVar[dict[str, type]] = {}

    task: str | None = None
    fps: int = 30
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    @classmethod
    def register_subclass(cls, name: str) -> Callable[[_T], _T]:
        def register(kind: _T) -> _T:
            cls.choices[name] = kind
            return kind

        return register

    @property
    def type(self) -> str:
        return next(name for name, kind in self.choices.items() if kind is type(self))

    @property
    @abc.abstractmethod
    def gym_kwargs(self) -> dict[str, Any]: ...
