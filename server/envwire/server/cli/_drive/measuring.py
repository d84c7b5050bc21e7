"""Measures the step of a remote environment, with a breakdown of its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.client._transports.transport import Transport, call
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice
    from envwire.wire.frames import Reply


class TimedTransport(Transport):
    """A transport that measures the time of each exchange, and keeps its session's answer to Make.

    Args:
        transport: The transport to measure.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._made = pb.MakeResponse()
        self.seconds = 0.0

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        begun = time.perf_counter()
        self._transport.send(request, timeout, header)
        self.seconds += time.perf_counter() - begun

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        begun = time.perf_counter()
        reply = self._transport.receive()
        self.seconds += time.perf_counter() - begun
        return reply

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        begun = time.perf_counter()
        reply = self._transport.exchange(request, timeout, header)
        self.seconds += time.perf_counter() - begun
        if not self._made.session_id and RESPONSES.kind(reply.message) == "make":
            self._made = pb.InteractResponse.FromString(reply.message).make
        return reply

    def fileno(self) -> int:
        """Returns what to poll for the reply (see `Transport.fileno`)."""
        return self._transport.fileno()

    def share(self, device: ClientDevice) -> None:
        """Has the next connection share memory of a device (see `Transport.share`)."""
        self._transport.share(device)

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Closes the transport."""
        self._transport.close()

    def stats(self) -> pb.GetSessionStatsResponse:
        """Returns the server's statistics of the session."""
        request = pb.InteractRequest()
        header = request.get_session_stats.header
        header.session_id, header.secret = self._made.session_id, self._made.secret
        return call(self._transport, request, 10.0).get_session_stats


@dataclass
class Timing:
    """Latency of steps over one transport, and its parts.

    Attributes:
        steps: Latency of each step, in microseconds.
        stepping: Mean time in the environment, in microseconds.
        server: Mean time for decoding the action and encoding the answer on the server, in microseconds.
        wire: Mean time between client and server, including all waiting, in microseconds.
    """

    steps: list[float] = field(default_factory=list[float])
    stepping: float = 0.0
    server: float = 0.0
    wire: float = 0.0

    @property
    def mean(self) -> float:
        """Mean latency of a step, in microseconds."""
        return float(np.mean(self.steps))

    @property
    def client(self) -> float:
        """Mean time for encoding the action and decoding the answer on the client, in microseconds."""
        return max(0.0, self.mean - self.stepping - self.server - self.wire)

    def percentile(self, percent: float) -> float:
        """Returns the step latency at a percentile, in microseconds."""
        return float(np.percentile(self.steps, percent))


def median_step(env: Any, steps: int, seed: int = 0) -> float:
    """Returns the median time of a step with a sampled action, without resets, in microseconds."""
    env.action_space.seed(seed)
    env.reset(seed=seed)
    times: list[float] = []
    for _ in range(steps):
        action = env.action_space.sample()
        begun = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(action)
        times.append(time.perf_counter() - begun)
        if terminated or truncated:
            env.reset()
    return float(np.median(times)) * 1e6


def measure(env: Any, transport: TimedTransport, steps: int, advance: Callable[[], None]) -> Timing:
    """Measures steps of episodes, with actions sampled in advance.

    Args:
        env: The environment, which uses `transport`.
        transport: Its transport.
        steps: Number of steps to measure.
        advance: Called after each step.
    """
    actions = [env.action_space.sample() for _ in range(min(steps, 256))]
    env.reset(seed=0)
    before, waited = transport.stats(), transport.seconds
    timing, resets, ended = Timing(), 0.0, False
    for number in range(steps):
        if ended:
            exchanged = transport.seconds
            env.reset()
            resets += transport.seconds - exchanged
        begun = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(actions[number % len(actions)])
        timing.steps.append((time.perf_counter() - begun) * 1e6)
        # A vector environment resets its members itself.
        ended = not np.ndim(terminated) and (terminated or truncated)
        advance()
    after = transport.stats()
    serving, stepping = (
        (getattr(after, name).ToMicroseconds() - getattr(before, name).ToMicroseconds()) / steps
        for name in ("serving", "stepping")
    )
    exchanging = (transport.seconds - waited - resets) / steps * 1e6
    timing.stepping, timing.server = stepping, serving - stepping
    timing.wire = max(0.0, exchanging - serving)
    return timing
