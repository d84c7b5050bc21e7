"""Lists the server's secret files, and warns about those that environments could read or replace."""

from __future__ import annotations

import dataclasses
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")

#: Most links that the kernel follows on one path.
_LINKS = 40


def secrets_of(config: ServerConfig) -> list[Path]:
    """Returns the files, and the directory of recordings, that only the front may read."""
    secrets = (config.tls_key, config.tokens, config.join_token, config.record)
    return [Path(path).absolute() for path in secrets if path]


def protected_of(config: ServerConfig) -> list[Path]:
    """Returns what environments may not replace: the secrets, and the certificates that the server trusts."""
    public = (config.tls_cert, config.tls_client_ca, config.join_ca)
    return [*secrets_of(config), *(Path(path).absolute() for path in public if path)]


def followed(path: Path) -> Iterator[Path]:
    """Yields the links on the way to a file, and the file itself: whoever replaces one of them replaces the file."""
    at, parts, links = Path("/"), list(reversed(path.parts[1:])), 0
    while parts:
        part = parts.pop()
        step = at.parent if part == ".." else at / part
        if links < _LINKS and step.is_symlink():
            yield step
            target = step.readlink()
            at = Path("/") if target.is_absolute() else at
            parts += [each for each in reversed(target.parts) if each != target.anchor]
            links += 1
        else:
            at = step
    yield at


def is_exposed(path: Path) -> bool:
    """Returns whether a path lies where environments work, so that it cannot be closed to them."""
    working = {Path(tempfile.gettempdir()).resolve(), Path.cwd(), Path.home().resolve()}
    return not (working - {Path("/")}).isdisjoint(path.parents)


def warn_of_exposed(config: ServerConfig) -> None:
    """Logs which files environments can read or replace. On loopback, recordings do not count as secrets."""
    checked = dataclasses.replace(config, record="") if config.loopback else config
    exposed = [path for path in protected_of(checked) if any(map(is_exposed, followed(path)))]
    if exposed:
        _log.warning(
            "environments may read and replace %s, beneath the working, home or temporary directory; keep %s in a "
            "directory of its own, such as /etc/envwire",
            ", ".join(map(os.fspath, exposed)),
            "them" if len(exposed) > 1 else "it",
        )
