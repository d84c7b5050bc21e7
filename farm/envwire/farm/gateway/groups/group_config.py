"""The settings of a group of a farm: what its servers are, how many there may be, and what each of them gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any, cast

from envwire.server._settings.checks import LIMIT, NOT_NEGATIVE, PAIRS, POSITIVE, Check, ValueKind
from envwire.server._settings.setting import About, Setting, check_known, setting, settings_of
from envwire.server.config import ServerConfig, freeze_lists

#: The engines that run groups.
ENGINES = ("local", "docker", "kubernetes", "ray")
#: Labels by which a gateway knows the group of a server, and its engine the server.
GROUP_LABEL, INSTANCE_LABEL = "group", "instance"
#: Names become parts of names of containers and other objects of engines.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_PATTERN = re.compile(r"[*?[]")

#: A registry, a path, a tag and a digest. Credentials are the engine's: an image is shown to all who see the farm.
_IMAGE = re.compile(
    r"[A-Za-z0-9][\w.-]*(:\d+)?(/[a-z0-9][\w.-]*)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?", re.ASCII
)


def _is_image(value: object) -> bool:
    return value == "" or (isinstance(value, str) and _IMAGE.fullmatch(value) is not None)


_setting = partial(setting, "Groups")
_REFERENCE = Check(
    _is_image, "the name of an image, such as registry/robots:3, without a scheme or a password"
)
_ENGINE = Check({"", *ENGINES}.__contains__, " or ".join(ENGINES))


@dataclass(frozen=True, kw_only=True)
class GroupSettings:
    """Settings of a group, besides those of its servers. Times are in seconds."""

    engine: str = _setting(
        "", "Engine of its servers: `local`, `docker`, `kubernetes` or `ray`.", _ENGINE
    )
    image: str = _setting(
        "", "Image of its containers, with envwire and the environments.", _REFERENCE
    )
    secret: str = _setting(
        "", "Kubernetes Secret whose files its servers find in `/run/secrets/envwire`."
    )
    node_selector: Sequence[str] = _setting(
        (), "Labels of the Kubernetes nodes on which its servers run, `NAME=VALUE` each.", PAIRS
    )
    packages: Sequence[str] = _setting(
        (), "Python packages of its environments, which the local engine installs for it."
    )
    min: int = _setting(0, "Fewest servers.", NOT_NEGATIVE)
    max: int = _setting(1, "Most servers.", POSITIVE)
    free: int = _setting(0, "Slots to keep free while the group is used.", NOT_NEGATIVE)
    idle: float = _setting(
        300.0, "Seconds without sessions after which a server stops.", NOT_NEGATIVE
    )
    wait: float = _setting(300.0, "Longest wait of a Make for a slot of the group.", POSITIVE)
    start_timeout: float = _setting(120.0, "Longest start of a server.", POSITIVE)
    cpus: float = _setting(0.0, "Processors of each server; 0 for no limit.", LIMIT)
    memory: int = _setting(0, "Bytes of memory of each server; 0 for no limit.", LIMIT)
    gpu_count: int = _setting(0, "GPUs that the engine reserves for each server.", NOT_NEGATIVE)


def _are_tables(value: object) -> bool:
    tables = cast("Mapping[str, object]", value).values() if isinstance(value, Mapping) else (None,)
    return all(isinstance(table, Mapping) for table in tables)


#: The tables of all groups in a farm's file, by name.
GROUPS = Setting(
    "groups",
    ValueKind(Check(_are_tables, "a table of tables"), json.loads, None),
    {},
    About("Groups", "Kinds of servers, a table of settings each.", option="groups.NAME"),
)

#: The settings of a group, by name.
GROUP_SETTINGS = settings_of(GroupSettings)


@dataclass(frozen=True, kw_only=True)
class GroupConfig(GroupSettings):
    """One group.

    Attributes:
        name: Its name.
        server: The settings of its servers.

    Raises:
        ValueError: Its settings are invalid, or contradict each other.
    """

    name: str
    server: ServerConfig

    def __post_init__(self) -> None:
        """Refuses settings that no engine could follow, or that its engine would ignore."""
        if not _NAME.fullmatch(self.name):
            raise ValueError("a group's name is 1 to 40 small letters, digits and -")
        for each in GROUP_SETTINGS.values():
            _check(each, getattr(self, each.name))
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, more than max, {self.max}")
        if self.packages and self.server.python:
            raise ValueError(
                "packages are for an interpreter that the farm makes; leave python out"
            )
        for name in _NOT_FOR[self.engine]:
            if getattr(self, name):
                raise ValueError(f"{name} is not for servers on engine {self.engine!r}")
        if self.engine in _OF_CONTAINERS and not self.image:
            raise ValueError(f"engine {self.engine!r} takes an image: image = 'registry/robots:3'")
        on_kubernetes = self.engine == "kubernetes"
        if on_kubernetes and not self.server.join:
            raise ValueError(
                "engine 'kubernetes' takes the gateways' addresses, as pods reach them: join = ['gateway:50050']"
            )
        if not on_kubernetes and (self.server.join or self.server.join_token):
            raise ValueError(
                f"servers on engine {self.engine!r} know their gateway; leave out join and join_token"
            )

    @property
    def slots(self) -> int:
        """Number of sessions that each server holds."""
        return self.server.max_sessions

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids that it declares, without patterns."""
        return frozenset(each for each in self.server.environments if not _PATTERN.search(each))

    def declares(self, env_id: str) -> bool:
        """Returns whether an id, or a pattern that matches it, is among the environments."""
        return any(fnmatchcase(env_id, each) for each in self.server.environments)


_OF_CONTAINERS = ("docker", "kubernetes")
_OF_KUBERNETES = ("secret", "node_selector")
#: Settings that an engine cannot follow.
_NOT_FOR: dict[str, tuple[str, ...]] = {
    "local": ("image", "cpus", "memory", "gpu_count", *_OF_KUBERNETES),
    "docker": ("packages", *_OF_KUBERNETES),
    "kubernetes": ("packages",),
    "ray": ("packages", "image", *_OF_KUBERNETES),
}


def _check(setting: Setting, value: Any) -> None:
    for check in (setting.kind.check, setting.about.check):
        if not check.holds(value):
            raise ValueError(f"{setting.name} is {value!r}; it must be {check.expected}")


def read_groups(
    tables: Mapping[str, Mapping[str, Any]],
    defaults: Mapping[str, Any],
    known: Sequence[str],
    engine: str,
) -> dict[str, GroupConfig]:
    """Returns the groups that the tables of a farm's file describe.

    Args:
        tables: The tables, by name.
        defaults: Settings of servers that a table does not set.
        known: Settings of servers that a table may set.
        engine: Engine of groups that name none.

    Raises:
        ValueError: A table is invalid, or two groups declare the same id.
    """
    groups: dict[str, GroupConfig] = {}
    owners: dict[str, str] = {}
    for name, table in tables.items():
        try:
            groups[name] = _read_group(name, table, defaults, known, engine)
        except (TypeError, ValueError) as error:
            raise ValueError(f"groups.{name}: {error}") from error
        for env_id in groups[name].ids:
            if owners.setdefault(env_id, name) != name:
                raise ValueError(
                    f"{env_id} is in groups {owners[env_id]} and {name}; an id is in one"
                )
    return groups


def _read_group(
    name: str,
    table: Mapping[str, Any],
    defaults: Mapping[str, Any],
    known: Sequence[str],
    engine: str,
) -> GroupConfig:
    check_known(table, [*GROUP_SETTINGS, *known])
    given = freeze_lists(table)
    own = {key: given.pop(key) for key in list(given) if key in GROUP_SETTINGS}
    if "environments" not in given:
        raise ValueError("name its environments: environments = ['CartPole-v1']")
    server = ServerConfig(**{**defaults, **given})
    own["engine"] = own.get("engine") or engine
    return GroupConfig(name=name, server=server, **own)
