"""The arguments of a proxy, from which its spec or unpickling makes it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envwire.client._session.requests import WrapperLike
from envwire.client.options import ConnectionOptions


@dataclass(frozen=True)
class ProxyArguments:
    """The arguments of a proxy.

    Attributes:
        proxy_class: The proxy's class.
        target: Address of its server, or a list of addresses.
        env_id: Id of the environment.
        render_mode: Its render mode.
        wrappers: Wrappers on the server.
        library: Library that the id is taken from.
        env_kwargs: Keyword arguments of the environment.
        options: How to connect.
    """

    proxy_class: type
    target: Any
    env_id: str
    render_mode: str | None
    wrappers: Sequence[WrapperLike]
    library: str | None
    env_kwargs: Mapping[str, Any]
    options: ConnectionOptions

    def make(self) -> Any:
        """Makes the proxy again, with its own session."""
        return self._remake(render_mode=self.render_mode)

    @property
    def entry_point(self) -> str | Callable[..., Any]:
        """The function that `make` calls, as a name in this library, so that the spec can be stored and sent.

        With credentials or an open transport it is the function itself: specs may be written to files, which must not
        contain them. The same holds for a class that this library does not define, such as a user's subclass.
        """
        if self._storable:
            return vars(self.proxy_class)["_entry_point"]  # type: ignore[no-any-return]

        def make_remote(**kwargs: Any) -> Any:  # not the class: `make` would read its metadata
            return self._remake(**kwargs)

        return make_remote

    def spec_kwargs(self, of_environment: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments that the entry point is called with.

        Args:
            of_environment: Keyword arguments in the environment's spec on the server.
        """
        if not self._storable:
            return dict(of_environment)
        own = {"target": self.target, "env_id": self.env_id, **self._env_arguments}
        given = {name: value for name, value in own.items() if value}
        options = self.options.keywords.items() - ConnectionOptions().keywords.items()
        return {**of_environment, **given, **dict(options)}

    @property
    def _storable(self) -> bool:
        opened = not isinstance(self.options.transport, (str, type(None)))
        named = "_entry_point" in vars(self.proxy_class)
        return named and not opened and not self.options.credentials

    @property
    def _env_arguments(self) -> dict[str, Any]:
        env_kwargs = dict(self.env_kwargs)
        return {"wrappers": self.wrappers, "library": self.library, "env_kwargs": env_kwargs}

    def _remake(self, /, **overrides: Any) -> Any:
        arguments = {**self._env_arguments, **self.options.keywords, **overrides}
        return self.proxy_class(self.target, self.env_id, **arguments)
