"""The arguments of a proxy, kept to make it again: for its spec, and for pickling before first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from envwire.client._session.requests import WrapperLike
from envwire.client.options import ConnectionOptions


@dataclass(frozen=True)
class Recipe:
    """The arguments of a proxy.

    Attributes:
        face: The proxy's class.
        target: Address of its server, or a list of addresses.
        env_id: Id of the environment.
        render_mode: Its render mode.
        wrappers: Wrappers on the server.
        library: Library that the id is taken from.
        env_kwargs: Keyword arguments of the environment.
        options: How servers are reached.
    """

    face: type
    target: Any
    env_id: str
    render_mode: str | None
    wrappers: Sequence[WrapperLike]
    library: str | None
    env_kwargs: Mapping[str, Any]
    options: ConnectionOptions

    def make(self) -> Any:
        """Makes the proxy again, with a session of its own."""
        return self._remake(render_mode=self.render_mode)

    @property
    def entry_point(self) -> str | Callable[..., Any]:
        """What `make` calls: a name of this library, so that a specification can be stored and sent.

        With credentials or an open transport it is a function, since specifications are written to files, which must
        hold neither. It is a function for a user's subclass as well, which has no name in this library.
        """
        return vars(self.face)["_entry_point"] if self._storable else self._function()

    def spec_kwargs(self, of_environment: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments that the entry point is called with.

        Args:
            of_environment: Those of the environment's own specification, on the server.
        """
        if not self._storable:
            return dict(of_environment)
        own = {
            "target": self.target,
            "env_id": self.env_id,
            "wrappers": self.wrappers,
            "library": self.library,
            "env_kwargs": dict(self.env_kwargs),
        }
        given = {name: value for name, value in own.items() if value} | self._given_options()
        return {**of_environment, **given}

    @property
    def _storable(self) -> bool:
        opened = not isinstance(self.options.transport, (str, type(None)))
        return not opened and not self.options.credentials and "_entry_point" in vars(self.face)

    def _given_options(self) -> dict[str, Any]:
        defaults = {each.name: each.default for each in fields(self.options)}
        keywords = self.options.keywords
        return {name: value for name, value in keywords.items() if value != defaults[name]}

    def _remake(self, **overrides: Any) -> Any:
        arguments: dict[str, Any] = {
            "wrappers": self.wrappers,
            "library": self.library,
            "env_kwargs": self.env_kwargs,
            **self.options.keywords,
        }
        return self.face(self.target, self.env_id, **{**arguments, **overrides})

    def _function(self) -> Callable[..., Any]:
        # A function, which `make` asks for no metadata; it would ask a class.
        def make_remote(**kwargs: Any) -> Any:
            return self._remake(**kwargs)

        return make_remote
