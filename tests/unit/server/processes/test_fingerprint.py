"""Servers whose numbers may differ have different fingerprints."""

from __future__ import annotations

from envwire.server._processes.interpreter import fingerprint
from envwire.v1 import environment_pb2 as pb


def test_versions_of_libraries_and_of_other_interpreters_packages_count() -> None:
    found = [
        fingerprint([pb.LibraryInfo(name="gymnasium", version=version)], packages)
        for version in ("0.29.1", "1.1")
        for packages in ([], ["numpy==1.26.4"], ["numpy==2.0"])
    ]
    assert len(set(found)) == len(found)
    assert fingerprint([], ["x==1", "y==2"]) == fingerprint([], ["y==2", "x==1"])
