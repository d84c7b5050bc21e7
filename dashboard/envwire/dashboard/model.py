"""The watched servers and their sessions, built from the rounds of status that servers send. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from envwire.codec.messages import state_name
from envwire.dashboard.history import History
from envwire.observe.v1 import observe_pb2 as pb

_STATES = {number: state_name(name) for name, number in pb.SessionStatus.State.items()}
#: States of a server, unless its farm's gateway reports another one.
FREE, BUSY, DRAINING, UNREACHABLE = "free", "busy", "draining", "unreachable"


class Activity(NamedTuple):
    """A session's activity between two rounds.

    Attributes:
        steps: Steps per second.
        environment: Fraction of the time spent in the environment's steps.
        codec: Fraction spent in the rest of its requests: decoding, encoding, resets.
        agent: Fraction between its requests: the agent and the network.
        processor: Processors that its process kept busy: 0.5 is half of one.
    """

    steps: float = 0.0
    environment: float = 0.0
    codec: float = 0.0
    agent: float = 0.0
    processor: float = 0.0


NOTHING = Activity()


@dataclass
class Session:
    """A session as described by the last round that mentioned it.

    Attributes:
        server: The server that holds it.
        status: Its counters.
        activity: A round's number and the activity in it; rounds since then had none.
        rates: Its steps per second in the last rounds.
        text: The strings to search, in lower case, one per line.
    """

    server: Server
    status: pb.SessionStatus
    activity: Activity = NOTHING
    round: int = 0
    rates: History = field(default_factory=History)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Prepares the text to search once, since each key typed searches up to ten thousand sessions."""
        status = self.status
        texts = (status.env_id, status.client, status.session_id, self.server.address)
        self.text = "\n".join(texts).lower()

    @property
    def doing(self) -> Activity:
        """The activity in the current round."""
        return self.activity if self.round == self.server.round else NOTHING

    @property
    def state(self) -> str:
        """The state, in one word. A session that served requests in this round is busy, though it waits just now."""
        idle = self.status.state == pb.SessionStatus.STATE_IDLE
        served = self.doing.environment + self.doing.codec > 0
        return _STATES[pb.SessionStatus.STATE_BUSY if idle and served else self.status.state]

    @property
    def age(self) -> float:
        """Seconds since the session began."""
        return max(0.0, self.server.now - self.status.began)


@dataclass(eq=False)
class Server:
    """A watched server.

    Attributes:
        address: HOST:PORT.
        status: Its last status.
        admin: Whether the page may end its sessions and drain it.
        farm_state: Its state according to its gateway; empty without one.
        error: Why it sends no status; empty while it does.
        round: Number of rounds received.
        sessions: Live sessions by id.
        ended: The last 1,000 sessions that ended, by id.
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
        """The server's clock, in seconds."""
        return self.status.now

    @property
    def state(self) -> str:
        """The state, in one word."""
        if self.farm_state in {"suspect", "dead", "unknown"}:
            return self.farm_state
        if self.error:
            return UNREACHABLE
        if self.status.draining or self.farm_state == DRAINING:
            return DRAINING
        full = self.status.active_sessions >= self.status.max_sessions
        return BUSY if full else FREE

    def take(self, part: pb.WatchResponse) -> None:
        """Applies one message of a round."""
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
        known.rates.note(self.round, known.activity.steps)


def _activity(before: pb.SessionStatus, after: pb.SessionStatus, elapsed: float) -> Activity:
    if elapsed <= 0:
        return NOTHING
    serving = min(1.0, (after.serving - before.serving) / elapsed)
    stepping = min(serving, (after.stepping - before.stepping) / elapsed)
    steps = (after.steps - before.steps) / elapsed
    processor = max(0.0, after.processor_time - before.processor_time) / elapsed
    return Activity(steps, stepping, serving - stepping, 1.0 - serving, processor)


class Fleet:
    """The watched servers, by address.

    Attributes:
        rates: Their steps per second together, in the last seconds.
        second: Number of seconds that it has been watched.
    """

    def __init__(self) -> None:
        self.servers: dict[str, Server] = {}
        self.rates = History()
        self.second = 0

    def note_second(self) -> None:
        """Notes what the servers do now, once a second."""
        self.second += 1
        sessions = chain.from_iterable(each.sessions.values() for each in self.servers.values())
        self.rates.note(self.second, sum(session.doing.steps for session in sessions))

    def server(self, address: str) -> Server:
        """Returns the server at an address, adding it if it is new."""
        return self.servers.setdefault(address, Server(address))
