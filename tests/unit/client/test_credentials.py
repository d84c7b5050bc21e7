"""Certificates reach the ssl module on every system."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from envwire.client import Credentials


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the list of open files")
def test_the_file_with_the_key_is_not_open_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = list[bytes]()

    def load(_: ssl.SSLContext, path: str | Path, **__: object) -> None:
        """Reads a file as on Windows: not while it is open elsewhere."""
        descriptors = Path("/proc/self/fd").iterdir()
        opened = [each.readlink() for each in descriptors if each.is_symlink()]
        assert Path(path).resolve() not in opened
        loaded.append(Path(path).read_bytes())
        assert Path(path).parent.stat().st_mode & 0o077 == 0, "others cannot enter its directory"

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load)
    Credentials(ca=None, cert=b"cert", key=b"key\n").ssl_context()
    assert loaded == [b"key\ncert"]
