"""The certificate of proxies with TLS, and the authority that drivers have to trust."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from envwire.conformance.proxy import Certificate


@contextmanager
def loopback_certificate() -> Generator[Certificate]:
    """Issues a certificate for 127.0.0.1, by `envwire certs`; its files are deleted in the end."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "envwire", "certs", directory]
        subprocess.run(command, check=True, capture_output=True, timeout=60.0)  # noqa: S603 - our own program
        ca, cert, key = (Path(directory, f"{name}.pem") for name in ("ca", "server", "server-key"))
        yield Certificate(ca, cert.read_bytes(), key.read_bytes())
