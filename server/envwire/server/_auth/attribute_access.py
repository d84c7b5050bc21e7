"""The attributes and methods of an environment that clients may reach: names and patterns, checked by the session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from envwire.codec import FaultError, Reason
from envwire.server.config import ServerConfig

#: Attributes of Gymnasium's and PettingZoo's API, which every client may read, except `unwrapped` and
#: `get_wrapper_attr`, which would give access to any name.
API_ATTRIBUTES = (
    "action_space",
    "agent_selection",
    "agents",
    "max_num_agents",
    "metadata",
    "np_random",
    "np_random_seed",
    "_np_random",
    "num_agents",
    "num_envs",
    "observation_space",
    "possible_agents",
    "render_mode",
    "reward_range",
    "single_action_space",
    "single_observation_space",
    "spec",
)
API_METHODS = ("observe", "state")

_ANY = ("*",)


@dataclass(frozen=True)
class AttributeAccess:
    """The names that clients may reach, as shell patterns.

    Attributes:
        readable: Attributes that may be read.
        settable: Attributes that may be set.
        methods: Methods that may be called.
    """

    readable: tuple[str, ...] = _ANY
    settable: tuple[str, ...] = _ANY
    methods: tuple[str, ...] = _ANY

    @classmethod
    def of(cls, config: ServerConfig) -> AttributeAccess:
        """Returns the access that a server's settings grant: any name if only this machine can reach the server."""
        if config.loopback:
            return cls()
        attributes = tuple(config.allow_attributes)
        methods = (*API_METHODS, *config.allow_methods)
        return cls((*API_ATTRIBUTES, *attributes), attributes, methods)

    def sees(self, name: str) -> bool:
        """Returns whether clients may learn that `name` exists.

        Raises:
            FaultError: ATTRIBUTE_NOT_ALLOWED for an invalid name, or a private one of Python's.
        """
        _check(name)
        return _matches(name, (*self.readable, *self.methods))

    def check_read(self, name: str) -> None:
        """Refuses to read an attribute that is not listed. Methods that a client may call may also be read.

        Raises:
            FaultError: ATTRIBUTE_NOT_ALLOWED.
        """
        _require("attribute", name, self.readable, also=self.methods)

    def check_set(self, name: str) -> None:
        """Refuses to set an attribute that is not listed.

        Raises:
            FaultError: ATTRIBUTE_NOT_ALLOWED.
        """
        _require("attribute", name, self.settable)

    def check_call(self, name: str) -> None:
        """Refuses to call a method that is not listed.

        Raises:
            FaultError: ATTRIBUTE_NOT_ALLOWED.
        """
        _require("method", name, self.methods)


#: The default of a server that only this machine can reach.
EVERYTHING = AttributeAccess()


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check(name: str) -> None:
    if not name.isidentifier() or name.startswith("__"):
        raise FaultError(
            Reason.ATTRIBUTE_NOT_ALLOWED,
            f"attribute {name!r} cannot be reached; name an identifier that does not begin with two underscores",
        )


def _require(what: str, name: str, listed: Iterable[str], also: Iterable[str] = ()) -> None:
    _check(name)
    if not _matches(name, (*listed, *also)):
        raise FaultError(
            Reason.ATTRIBUTE_NOT_ALLOWED,
            f"{what} {name!r} is not listed on this server; it allows {', '.join(sorted(listed)) or 'none'}. The "
            f"operator lists more with --allow-{what} {name}",
        )
