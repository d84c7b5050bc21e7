"""gRPC's pool of threads in a front: it grows with load and shrinks without, so that a soak counts it apart."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.faults.scene import eventually, pool_of, serve

_SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_MOST_ROUNDS = 20_000


@pytest.mark.long
def test_a_crowd_starts_threads_that_end_in_peace() -> None:
    """At most one a second, when all are busy; each ends after 20 s in which none of gRPC's work fell to it."""
    with serve() as server:
        before = pool_of(server.pid)
        host, port = server.target.split(":")
        rounds = count()

        def crowd() -> None:
            while pool_of(server.pid) == before and next(rounds) < _MOST_ROUNDS:
                strangers = [socket.create_connection((host, int(port))) for _ in range(30)]
                for each in strangers:
                    each.sendall(_SETTINGS)
                for each in strangers:
                    each.close()

        with ThreadPoolExecutor(8) as crowds:
            for each in [crowds.submit(crowd) for _ in range(8)]:
                each.result()
        assert pool_of(server.pid) > before
        assert eventually(lambda: pool_of(server.pid) <= before, 600.0)
