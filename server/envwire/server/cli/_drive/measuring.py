"""Measures the step of a remote environment, and where its time goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES

if TYPE_CHECKING:
    from envwire.client import Transport
    from envwire.wire.frames import Reply


class TimedTransport:
    """A transport that notes how long each exchange takes, and whose session it carries.

    Args:
        transport: Does the work.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._made = pb.MakeResponse()
        self.seconds = 0.0

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        begun = time.perf_counter()
        reply = self._transport.exchange(request, timeout, header)
        self.seconds += time.perf_counter() - begun
        if not self._made.session_id and RESPONSES.kind(reply.message) == "make":
            self._made = pb.InteractResponse.FromString(reply.message).make
        return reply

    def stats(self) -> pb.GetSessionStatsResponse:
        """Asks the server how it spent the session's time."""
        request = pb.InteractRequest()
        header = request.get_session_stats.header
        header.session_id, header.secret = self._made.session_id, self._made.secret
        reply = self._transport.exchange(request.SerializeToString(), 10.0)
        return pb.InteractResponse.FromString(reply.message).get_session_stats

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Does the first half of an exchange (see `Transport.send`)."""
        self._transport.send(request, timeout, header)

    def receive(self) -> Reply:
        """Does the second half of an exchange (see `Transport.receive`)."""
        return self._transport.receive()

    def fileno(self) -> int:
        """Returns what is readable once a reply has come (see `Transport.fileno`)."""
        return self._transport.fileno()

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Frees the connection (see `Transport.close`)."""
        self._transport.close()


@dataclass
class Timing:
    """What steps cost over one transport.

    Attributes:
        steps: Microseconds of each step.
        stepping: Microseconds a step that the environment took.
        server: Microseconds a step that the server took to read the action and to write the answer.
        wire: Microseconds a step between client and server, waiting included.
    """

    steps: list[float] = field(default_factory=list[float])
    stepping: float = 0.0
    server: float = 0.0
    wire: float = 0.0

    @property
    def mean(self) -> float:
        """Microseconds a step."""
        return float(np.mean(self.steps))

    @property
    def client(self) -> float:
        """Microseconds a step that the client took to write the action and to read the answer."""
        return max(0.0, self.mean - self.stepping - self.server - self.wire)

    def percentile(self, percent: float) -> float:
        """Returns the step latency at each percentile, in microseconds."""
        return float(np.percentile(self.steps, percent))


def measure(env: Any, transport: TimedTransport, steps: int, advance: Callable[[], None]) -> Timing:
    """Takes steps with actions sampled beforehand, in episodes, and tells what they cost.

    Args:
        env: The environment, over `transport`.
        transport: Its transport.
        steps: How many steps to time.
        advance: Called after each.
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
        ended = terminated or truncated
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
