"""What is known of the watched servers and their sessions, from the rounds that they tell. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from envwire.codec.state_names import state_name
from envwire.observe.v1 import observe_pb2 as pb

_STATES = {number: state_name(name) for name, number in pb.SessionStatus.State.items()}
#: States of a server while its farm's gateway says nothing else of it.
FREE, BUSY, DRAINING, UNREACHABLE = "free", "busy", "draining", "unreachable"


class Activity(NamedTuple):
    """What a session did between two rounds, per second; the last three are parts of the time.

    Attributes:
        steps: Steps.
        environment: In the environment's steps.
        codec: In the rest of its requests: reading, writing, resets.
        agent: Between its requests: the agent and the way to it.
    """

    steps: float = 0.0
    environment: float = 0.0
    codec: float = 0.0
    agent: float = 0.0


NOTHING = Activity()


@dataclass
class Session:
    """A session, as the last round that told of it described it.

    Attributes:
        server: The server that has it.
        status: Its counters.
        activity: What it did in the round of this number; in later ones it did nothing.
        text: Its texts in small letters, a line each.
    """

    server: Server
    status: pb.SessionStatus
    activity: Activity = NOTHING
    round: int = 0
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Notes what the session is found by, which does not change: ten thousand are looked through at each key."""
        status = self.status
        texts = (status.env_id, status.client, status.session_id, self.server.address)
        self.text = "\n".join(texts).lower()

    @property
    def doing(self) -> Activity:
        """What it does now."""
        return self.activity if self.round == self.server.round else NOTHING

    @property
    def state(self) -> str:
        """Its state in a word."""
        return _STATES[self.status.state]

    @property
    def age(self) -> float:
        """Seconds since it began."""
        return max(0.0, self.server.now - self.status.began)


@dataclass(eq=False)
class Server:
    """A server that is watched.

    Attributes:
        address: HOST:PORT.
        status: What it told of itself last.
        admin: Whether the page may end its sessions and drain it.
        farm_state: What its gateway says of it; empty without one.
        error: Why it tells nothing; empty while it does.
        round: Counts its rounds.
        sessions: Those that live, by id.
        ended: Those that ended, by id: the last 1,000.
    """

    address: str
    status: pb.ServerStatus = field(default_factory=pb.ServerStatus)
    admin: bool = False
    farm_state: str = ""
    error: str = "connecting"
    round: int = 0
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    ended: OrderedDict[str, pb.SessionEnd] = field(default_factory=OrderedDict[str, pb.SessionEnd])
    _elapsed: float = 0.0

    @property
    def now(self) -> float:
        """The server's time."""
        return self.status.now

    @property
    def state(self) -> str:
        """Its state in a word."""
        if self.farm_state in {"suspect", "dead", "unknown"}:
            return self.farm_state
        if self.error:
            return UNREACHABLE
        if self.status.draining or self.farm_state == DRAINING:
            return DRAINING
        full = self.status.active_sessions >= self.status.max_sessions
        return BUSY if full else FREE

    def take(self, part: pb.WatchResponse) -> None:
        """Takes a part of a round."""
        if part.HasField("server"):
            self._begin_round(part.server)
        for status in part.sessions:
            self._take_session(status)
        for end in part.ended:
            self.sessions.pop(end.session_id, None)
            self.ended[end.session_id] = end
        while len(self.ended) > 1000:
            self.ended.popitem(last=False)

    def _begin_round(self, status: pb.ServerStatus) -> None:
        if status.incarnation != self.status.incarnation:
            self.sessions.clear()
            self.ended.clear()
            self._elapsed = 0.0
        else:
            self._elapsed = status.now - self.status.now
        self.status.CopyFrom(status)
        self.round += 1
        self.error = ""

    def _take_session(self, status: pb.SessionStatus) -> None:
        known = self.sessions.get(status.session_id)
        if known is None:
            self.sessions[status.session_id] = Session(self, status)
            return
        known.activity = _activity(known.status, status, self._elapsed)
        known.status, known.round = status, self.round


def _activity(before: pb.SessionStatus, after: pb.SessionStatus, elapsed: float) -> Activity:
    if elapsed <= 0:
        return NOTHING
    serving = min(1.0, (after.serving - before.serving) / elapsed)
    stepping = min(serving, (after.stepping - before.stepping) / elapsed)
    steps = (after.steps - before.steps) / elapsed
    return Activity(steps, stepping, serving - stepping, 1.0 - serving)


class Fleet:
    """The watched servers by address."""

    def __init__(self) -> None:
        self.servers: dict[str, Server] = {}

    def server(self, address: str) -> Server:
        """Returns a server, which is new if it is not known."""
        return self.servers.setdefault(address, Server(address))
