"""Specifications of environments and wrappers, as data: `EnvSpec`, with its id, and `WrapperSpec`.

Environments refer to their spec, so this module does not import them; `EnvSpec.make` imports `make`
when it is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from envwire.envs import error

_Spec = TypeVar("_Spec", "EnvSpec", "WrapperSpec")
_DERIVED = ("namespace", "name", "version")

#: ``[namespace/]name[-vN]``.
_ENV_ID = re.compile(r"(?:(?P<namespace>[\w:-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?")


@dataclass
class WrapperSpec:
    """The specification of a wrapper.

    Attributes:
        name: The wrapper's class name.
        entry_point: Where the class is, as ``"module:Class"``.
        kwargs: Its arguments; ``None`` if the wrapper does not record them, and then it cannot be
            made again.
    """

    name: str
    entry_point: str
    kwargs: dict[str, Any] | None


@dataclass
class EnvSpec:
    """The specification of an environment.

    Attributes:
        id: ``[namespace/]name[-vN]``.
        entry_point: The function that makes the environment, or where it is (``"module:name"``).
        reward_threshold: The return at which the task counts as solved.
        nondeterministic: Whether the same seed and actions may give different episodes.
        max_episode_steps: The steps after which `TimeLimit` truncates; ``None`` for no limit.
        order_enforce: Whether `make` adds `OrderEnforcing`.
        disable_env_checker: Whether `make` leaves `PassiveEnvChecker` out.
        kwargs: Arguments for the entry point.
        additional_wrappers: The wrappers that `make` adds, innermost first.
        vector_entry_point: Like ``entry_point``, for a vector environment.
        namespace: The namespace of ``id``, if it has one.
        name: The name in ``id``.
        version: The version in ``id``, if it has one.
    """

    id: str
    entry_point: Callable[..., object] | str | None = None
    reward_threshold: float | None = None
    nondeterministic: bool = False
    max_episode_steps: int | None = None
    order_enforce: bool = True
    disable_env_checker: bool = False
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    namespace: str | None = field(init=False)
    name: str = field(init=False)
    version: int | None = field(init=False)
    additional_wrappers: tuple[WrapperSpec, ...] = ()
    vector_entry_point: Callable[..., object] | str | None = None

    def __post_init__(self) -> None:
        self.namespace, self.name, self.version = parse_env_id(self.id)

    def make(self, **kwargs: Any) -> Any:
        """Makes the environment, an `Env`: ``envwire.envs.make(spec, **kwargs)``."""
        from envwire.envs.envs.making import make

        return make(self, **kwargs)

    def to_json(self) -> str:
        """Returns the spec as JSON, from which `from_json` reads it again.

        Raises:
            ValueError: A field holds a function; only entry points by name can be written.
            TypeError: The kwargs hold something JSON has no form for.
        """
        import json

        record = {key: value for key, value in asdict(self).items() if key not in _DERIVED}
        for key, value in record.items():
            if callable(value):
                raise ValueError(
                    f"The spec of {self.id} cannot be written: its {key} is a function ({value}); "
                    "register the environment with an entry point by name"
                )
        return json.dumps(record)

    @staticmethod
    def from_json(json_env_spec: str) -> EnvSpec:
        """Reads what `to_json` wrote. Nothing is imported before `make`.

        Raises:
            ValueError: The text is not JSON, or a field is missing or unknown.
        """
        import json

        record: dict[str, Any] = json.loads(json_env_spec)
        wrappers = tuple(
            _from_record(WrapperSpec, entry) for entry in record.pop("additional_wrappers", ())
        )
        return replace(_from_record(EnvSpec, record), additional_wrappers=wrappers)

    def pprint(
        self,
        disable_print: bool = False,
        include_entry_points: bool = False,
        print_all: bool = False,
    ) -> str | None:
        """Prints the spec, one field a line, without those that have their default.

        Args:
            disable_print: Return the text instead of printing it.
            include_entry_points: Show where the environment and the wrappers come from.
            print_all: Show every field.
        """
        hidden = {"id", "entry_point", "kwargs", "additional_wrappers", "vector_entry_point"}
        lines = [f"id={self.id}"]
        if print_all or include_entry_points:
            lines.append(f"entry_point={self.entry_point}")
        for item in fields(self):
            value = getattr(self, item.name)
            if item.init and item.name not in hidden and (print_all or value != item.default):
                lines.append(f"{item.name}={value}")
        if print_all or self.additional_wrappers:
            lines.append(f"additional_wrappers={self._wrapper_lines(include_entry_points)}")
        text = "\n".join(lines)
        if disable_print:
            return text
        print(text)
        return None

    def _wrapper_lines(self, include_entry_points: bool) -> str:
        def line(wrapper: WrapperSpec) -> str:
            where = f"entry_point={wrapper.entry_point}, " if include_entry_points else ""
            return f"\n\tname={wrapper.name}, {where}kwargs={wrapper.kwargs}"

        if not self.additional_wrappers:
            return "[]"
        return "[" + ",".join(map(line, self.additional_wrappers)) + "\n]"


def _from_record(kind: type[_Spec], record: Any) -> _Spec:
    try:
        return kind(**record)
    except Exception as exc:
        article = "an" if kind is EnvSpec else "a"
        wanted = [item.name for item in fields(kind) if item.init]
        required = [item.name for item in fields(kind) if item.init and _is_required(item)]
        raise ValueError(
            f"Cannot make {article} {kind.__name__} from {record!r}: {exc}. "
            f"Its fields are {wanted}, of which {required} are required"
        ) from exc


def _is_required(item: Any) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def parse_env_id(env_id: str) -> tuple[str | None, str, int | None]:
    """Returns the namespace, name and version of ``env_id``; ``None`` for a part it does not have.

    Raises:
        error.Error: The id does not have the form ``[namespace/]name[-vN]``.
    """
    match = _ENV_ID.fullmatch(env_id)
    if match is None:
        raise error.Error(
            f"Malformed environment ID: {env_id}. Expected [namespace/]name[-vN], "
            "of letters, digits, '_', ':', '.' and '-'"
        )
    namespace, name, version = match.group("namespace", "name", "version")
    return namespace, name, None if version is None else int(version)


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Returns the id with these parts; the inverse of `parse_env_id`."""
    prefix = "" if ns is None else f"{ns}/"
    suffix = "" if version is None else f"-v{version}"
    return f"{prefix}{name}{suffix}"
