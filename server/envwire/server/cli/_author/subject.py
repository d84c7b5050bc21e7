"""The environment that a command examines, in this process and behind a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from envwire.client import RemoteEnv
from envwire.envs.error import NameNotFound

if TYPE_CHECKING:
    from typing_extensions import Self


class SkippedError(Exception):
    """The environment has nothing that this check could check."""


class Subject:
    """An environment by its id.

    Args:
        env_id: The id.
        target: HOST:PORT of the server that hosts it; empty to start a server for it.
        imports: Modules or files that register it.
        kwargs: Keyword arguments of the environment.

    Attributes:
        env_id: The id.
        library: The library that registers it here; None if only the server knows it.
        target: The server.
        elsewhere: Where `other` makes the environment, as messages say it.

    Raises:
        ImportError: A module cannot be imported.
        NameNotFound: It is not registered here, and no server was named.
    """

    def __init__(
        self, env_id: str, target: str, imports: Sequence[str], kwargs: dict[str, Any]
    ) -> None:
        from envwire.server._hosting.imports import import_named

        sys.path.insert(0, os.getcwd())
        for name in imports:
            import_named(name)
        self.env_id, self.target = env_id, target
        self._kwargs, self._imports = kwargs, tuple(imports)
        self._servers = ExitStack()
        self.library = _library_of(env_id)
        self.elsewhere = "in another session" if self.library is None else "here"
        if self.library is None and not target:
            raise NameNotFound(
                f"no library here registers {env_id!r}; name the module that does with --import, or a server that "
                "hosts it with --target HOST:PORT"
            )

    def __enter__(self) -> Self:
        """Starts a server if none was named.

        Raises:
            RemoteError: The server that was named does not answer, or cannot make the environment.
        """
        if self.target:
            self.remote().close()
        else:
            from envwire.server.server import Server

            server = self._servers.enter_context(Server([self.env_id], imports=self._imports))
            self.target = server.target
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the server that `__enter__` started."""
        self._servers.close()

    def other(self, **kwargs: Any) -> Any:
        """Makes the environment to compare with: in this process, or once more on the server if only that knows it."""
        if self.library is None:
            return self.remote("unary", **kwargs)
        return self.library.make(self.env_id, **self._kwargs, **kwargs)

    def remote(self, transport: str | None = None, **options: Any) -> RemoteEnv:
        """Makes the environment on the server."""
        name = None if self.library is None else _NAMES[self.library.__name__]
        return RemoteEnv(
            self.target,
            self.env_id,
            transport=transport,
            library=name,
            env_kwargs=self._kwargs,
            **options,
        )


_NAMES = {"envwire.envs": "envwire", "gymnasium": "gymnasium"}


def _library_of(env_id: str) -> Any:
    """Returns the first library, in a server's order, that registers an id; None if there is none."""
    for name in _NAMES:
        with suppress(ModuleNotFoundError):
            library: Any = import_module(name)
            if env_id in library.registry:
                return library
    return None
