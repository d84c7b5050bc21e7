"""Measures a session over a slow path: single steps, chunks, and steps sent ahead, beside what is possible.

A relay on 127.0.0.2 passes each byte on after half of the round trip. The figures are medians of rounds in which the
cases take turns; the relay's threads and the machine's noise are in them.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from benchmarks.wide_area_envs import ROBOT
from envwire.client import RemoteEnv
from envwire.server import Server

THERE = "127.0.0.2"
CHUNK = 8
STEP_SECONDS, INFERENCE_SECONDS = 0.02, 0.04
#: After which result of a chunk the next is inferred, so that it arrives before the last step is over.
_INFER_AFTER = 2
_RECEIVE_BYTES = 65536


class SlowPath:
    """Connections to ports of this machine, by way of another address, with a delay in each direction.

    Args:
        delay: Seconds from one end to the other.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._listening: list[socket.socket] = []

    def open(self, port: int) -> None:
        """Passes on connections to a port."""
        server = socket.create_server((THERE, port))
        self._listening.append(server)
        Thread(target=self._accept, args=(server, port), daemon=True).start()

    def _accept(self, server: socket.socket, port: int) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._join(near, far)
                self._join(far, near)

    def _join(self, source: socket.socket, sink: socket.socket) -> None:
        way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        Thread(target=self._read, args=(source, way), daemon=True).start()
        Thread(target=self._write, args=(way, sink), daemon=True).start()

    def _read(self, source: socket.socket, way: SimpleQueue[tuple[float, bytes]]) -> None:
        data = b"more"
        while data:
            try:
                data = source.recv(_RECEIVE_BYTES)
            except OSError:
                data = b""
            way.put((time.perf_counter() + self._delay, data))

    def _write(self, way: SimpleQueue[tuple[float, bytes]], sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = way.get()
                time.sleep(max(0.0, due - time.perf_counter()))
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)

    def close(self) -> None:
        """Accepts no more connections."""
        for server in self._listening:
            server.close()


def infer() -> list[int]:
    """Takes the time of a policy; returns the actions of a chunk."""
    time.sleep(INFERENCE_SECONDS)
    return [0] * CHUNK


def single_steps(env: RemoteEnv, chunks: int) -> None:
    """Takes each step after the answer to the one before."""
    for _ in range(chunks * CHUNK):
        env.step(0)


def many_in_flight(env: RemoteEnv, chunks: int) -> None:
    """Has two chunks of steps in flight, without inference."""
    running = env.step_ahead([0] * CHUNK)
    for _ in range(chunks - 1):
        following = env.step_ahead([0] * CHUNK)
        list(running)
        running = following
    list(running)


def chunk_after_chunk(env: RemoteEnv, chunks: int) -> None:
    """Infers each chunk after the answers to the one before."""
    for _ in range(chunks):
        env.step_many(infer())


def chunks_ahead(env: RemoteEnv, chunks: int) -> None:
    """Infers the next chunk while one runs, from its second observation."""
    running = env.step_ahead(infer())
    for _ in range(chunks - 1):
        for _ in range(_INFER_AFTER):
            next(running)
        following = env.step_ahead(infer())
        list(running)
        running = following
    list(running)


def ideals(round_trip: float) -> dict[Callable[[RemoteEnv, int], None], float]:
    """Returns the seconds of a chunk that each case cannot go below."""
    chunk = CHUNK * STEP_SECONDS
    return {
        single_steps: CHUNK * (STEP_SECONDS + round_trip),
        many_in_flight: chunk,
        chunk_after_chunk: chunk + round_trip + INFERENCE_SECONDS,
        chunks_ahead: max(chunk, INFERENCE_SECONDS),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def there(round_trip: float) -> Iterator[RemoteEnv]:
    """Yields an environment at the other end of a slow path."""
    root = str(Path(__file__).parents[1])
    imports = ["benchmarks.wide_area_envs"]
    direct_port = _free_port()
    with Server(["wide/*"], imports=imports, sys_path=(root,), direct_port=direct_port) as server:
        path = SlowPath(round_trip / 2)
        path.open(int(server.target.rpartition(":")[2]))
        path.open(direct_port)
        target = f"{THERE}:{server.target.rpartition(':')[2]}"
        with RemoteEnv(target, ROBOT, transport="direct-tcp") as env:
            env.reset()
            yield env
        path.close()


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round-trip", type=float, default=0.05, help="in seconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=10, help="in a round")
    options = parser.parse_args()
    cases = ideals(options.round_trip)
    taken: dict[str, list[float]] = {case.__name__: [] for case in cases}
    with there(options.round_trip) as env:
        for _ in range(options.rounds):
            for case in cases:
                begun = time.perf_counter()
                case(env, options.chunks)
                taken[case.__name__].append((time.perf_counter() - begun) / options.chunks)
    for case, ideal in cases.items():
        seconds = statistics.median(taken[case.__name__])
        print(
            f"{case.__name__:18} {seconds * 1000:6.0f} ms a chunk (ideal {ideal * 1000:.0f}), "
            f"{CHUNK / seconds:5.1f} steps/s ({CHUNK / ideal:.1f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
