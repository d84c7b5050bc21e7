"""Reloads files that change while the server runs, the server's certificates among them."""

from __future__ import annotations

import logging
import os
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from envwire.server._settings.checks import FilePath
from envwire.server._settings.listening import Listening

_log = logging.getLogger("envwire.server")

_T = TypeVar("_T")

#: A file that has not changed for this many seconds is complete. Programs that write in place empty the file first.
SETTLE_SECONDS = 1.0


@dataclass(eq=False)
class Reloaded(Generic[_T]):
    """The current contents of some files, parsed by `read`.

    If a change is invalid, it is logged and the former contents stay in use: a half-written file must not stop a
    server.

    Args:
        paths: The files.
        read: Reads and parses the files.
        clock: Monotonic time, in seconds.

    Raises:
        ValueError: The files are invalid at the start.
        OSError: The files cannot be read at the start.

    Attributes:
        settled: Whether the files have been unchanged for `SETTLE_SECONDS`, as of the last `get`.
    """

    _paths: Sequence[FilePath]
    _read: Callable[[], _T]
    _clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._names = ", ".join(map(str, self._paths))
        self._changed_at = self._clock()
        self.settled = False
        self._lock = threading.Lock()  # gRPC calls from its own threads
        self._seen: list[tuple[int, int, int] | None] = self._signature()
        self._value = self._read()

    def get(self) -> _T:
        """Returns the current contents."""
        with self._lock:
            try:
                self._refresh()
            except (OSError, ValueError) as error:
                if not self.settled:  # the error of a settled file was logged before
                    _log.warning("%s: not taken, the former stays: %s", self._names, error)
            return self._value

    def _refresh(self) -> None:
        seen = self._signature()
        if seen != self._seen:
            self._seen, self._changed_at, self.settled = seen, self._clock(), False
            self._take(self._read())
        elif not self.settled and self._clock() - self._changed_at >= SETTLE_SECONDS:
            self.settled = True
            # Read again: two changes within one tick of the file system's clock look like one.
            self._take(self._read())

    def _take(self, value: _T) -> None:
        if value != self._value:
            self._value = value
            _log.info("%s: read anew", self._names)

    def _signature(self) -> list[tuple[int, int, int] | None]:
        return [stamp(path) for path in self._paths]


def stamp(path: FilePath) -> tuple[int, int, int] | None:
    """Returns a value that changes whenever the file does; None for a missing file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Certificates:
    """Certificates in PEM form.

    Attributes:
        cert: The server's certificate, followed by intermediate authorities.
        key: Its private key.
        client_ca: The CAs whose client certificates are accepted; None to require no certificate.
        context: The same as a context of the `ssl` module.
    """

    cert: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None
    context: ssl.SSLContext = field(repr=False, compare=False)


def server_tls(config: Listening) -> Reloaded[Certificates] | None:
    """Returns the certificates that a server's settings name; None if it uses no TLS.

    Get them anew for each connection, since they change with their files.

    Raises:
        ValueError: A file does not contain what its setting requires.
        OSError: A file cannot be read.
    """
    if not config.tls_cert:
        return None
    paths = [config.tls_cert, config.tls_key, config.tls_client_ca]
    return Reloaded([path for path in paths if path], partial(_read, config))


def _read(config: Listening) -> Certificates:
    cert, key = Path(config.tls_cert).read_bytes(), Path(config.tls_key).read_bytes()
    client_ca = Path(config.tls_client_ca).read_bytes() if config.tls_client_ca else None
    return Certificates(cert, key, client_ca, _context(config))


def _context(config: Listening) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # not the default in every build of Python
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key, password=b"")
    except ssl.SSLError as error:
        raise ValueError(
            f"{config.tls_cert} and {config.tls_key} are no certificate and its key ({error.reason}); give PEM files "
            "that belong together, the key without a passphrase"
        ) from error
    if config.tls_client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(config.tls_client_ca)
        except ssl.SSLError as error:
            raise ValueError(
                f"{config.tls_client_ca} holds no certificate ({error.reason}); give a PEM file of the authority that "
                "issues the clients' certificates"
            ) from error
    return context
