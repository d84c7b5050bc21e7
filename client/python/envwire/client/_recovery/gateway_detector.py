"""Asks a farm's gateway whether a silent server is dead."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from envwire.client._drivers.silence import FailureDetector
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2 as pb

#: For how long a gateway's answer that is not DEAD serves all sessions of a server, in seconds. Each asks five times a
#: second, over a channel of its own: 63 sessions of a stopped server asked up to 258 times until it was dead.
_FRESH_SECONDS = 0.1


@dataclass(eq=False)
class _Inquiry:
    """What a process asks a gateway about one run of a server, for all of its sessions there.

    Attributes:
        lock: Held while the gateway is asked, which takes a second at most.
        answered_at: Time of the last answer, in seconds.
        silent: Whether the gateway was told, in the last question, that the server is silent.
        dead: Whether the gateway has declared the server dead, which is final.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    answered_at: float = -math.inf
    silent: bool = False
    dead: bool = False

    def is_fresh(self, silent: bool) -> bool:
        """Returns whether the last answer serves this question as well."""
        told_enough = self.silent or not silent
        return told_enough and time.monotonic() - self.answered_at <= _FRESH_SECONDS


#: By process, since a forked child must not wait for its parent's locks. Sessions keep the inquiries.
_inquiries: WeakValueDictionary[tuple[object, ...], _Inquiry] = WeakValueDictionary()


class GatewayDetector(FailureDetector):
    """Asks the gateway through which a session was made.

    Args:
        credentials: The client's; None for those from the environment variables.
        target: HOST:PORT of the gateway.
        made: The answer to the session's Make.
    """

    has_gateway = True

    def __init__(self, credentials: Credentials | None, target: str, made: pb.MakeResponse) -> None:
        self._credentials = credentials
        self._target = target
        self._session_id = made.session_id
        run = made.incarnation or made.session_id
        key = THIS_PROCESS.pid, target, credentials, run
        self._inquiry = _inquiries.setdefault(key, _Inquiry())

    @property
    def known(self) -> bool:
        """Whether the gateway has declared the server dead."""
        return self._inquiry.dead

    def ask(self, silent: bool, /) -> bool:
        """Returns whether the gateway declares the server dead (see `FailureDetector.ask`)."""
        from envwire.client._transports.grpc.gateway import is_server_dead

        inquiry = self._inquiry
        with inquiry.lock:
            if not (inquiry.dead or inquiry.is_fresh(silent)):
                server = self._target, self._credentials or Credentials(), self._session_id
                inquiry.dead = is_server_dead(*server, silent)
                inquiry.answered_at, inquiry.silent = time.monotonic(), silent
        return inquiry.dead
