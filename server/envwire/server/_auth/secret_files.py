"""Lists the server's secret files, and warns about those that environments could read."""

from __future__ import annotations

import dataclasses
import logging
import tempfile
from collections.abc import Iterable
from pathlib import Path

from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")


def secrets_of(config: ServerConfig) -> list[Path]:
    """Returns the files, and the directory of recordings, that only the front may read."""
    secrets = (config.tls_key, config.tokens, config.join_token, config.record)
    return [Path(path).resolve() for path in secrets if path]


def exposed(secrets: Iterable[Path]) -> list[Path]:
    """Returns the secrets in directories that environments use, where they cannot be hidden."""
    working = {Path(tempfile.gettempdir()).resolve(), Path.cwd(), Path.home().resolve()}
    return [secret for secret in secrets if not working.isdisjoint(secret.parents)]


def warn_of_exposed(config: ServerConfig) -> None:
    """Logs which secrets environments can read. On loopback, recordings do not count as secrets."""
    secrets = secrets_of(dataclasses.replace(config, record="") if config.loopback else config)
    for secret in exposed(secrets):
        _log.warning(
            "%s lies beneath the working, home or temporary directory, where environments may read it; keep it in a "
            "directory of its own, such as /etc/envwire",
            secret,
        )
