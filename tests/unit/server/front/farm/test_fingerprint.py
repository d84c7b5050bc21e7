"""Servers whose numbers may differ have different fingerprints."""

from __future__ import annotations

from envwire.server._front.farm.joining import fingerprint
from envwire.v1 import environment_pb2 as pb


def test_versions_of_libraries_and_of_other_interpreters_packages_count() -> None:
    found = [
        fingerprint([pb.LibraryInfo(name="gymnasium", version=version, group=group)], packages)
        for version in ("0.29.1", "1.1")
        for group in ("", "a")
        for packages in ([], ["a:numpy==1.26.4"], ["a:numpy==2.0"])
    ]
    assert len(set(found)) == len(found)
    assert fingerprint([], ["a:x==1", "b:y==2"]) == fingerprint([], ["b:y==2", "a:x==1"])
