"""The direct channels of a session process: at most one per session; a new one replaces the old."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from envwire.server._worker.direct.channel import Channel, ChannelError
from envwire.server._worker.poller import Waiting
from envwire.server._worker.sessions import ServedSession

#: Seconds for which a client may leave a reply unread before its connection is closed.
SEND_SECONDS = 30.0
#: Seconds for sending last replies; less than the time that the front gives a process to exit.
_FINISH_SECONDS = 3.0


class Channels:
    """The channels, by session.

    Args:
        waiting: The poller that watches them.
        limit: Largest request, in bytes.
        answer: Serves a request; called with the session, the channel and the request.
    """

    def __init__(
        self, waiting: Waiting, limit: int, answer: Callable[[ServedSession, Channel, bytes], None]
    ) -> None:
        self._waiting = waiting
        self._limit = limit
        self._answer = answer
        self._open: dict[ServedSession, Channel] = {}
        self._lingering: set[Channel] = set()

    def open(self, session: ServedSession, channel: Channel) -> None:
        """Adds a channel, which replaces the session's current one."""
        self.close(session)
        self._open[session] = channel
        self._watch(session, channel)
        try:
            channel.welcome(self._limit)
        except ChannelError:
            self.close(session)

    def close(self, session: ServedSession) -> None:
        """Closes the channel of a session, if it has one."""
        if channel := self.release(session):
            channel.close()

    def release(self, session: ServedSession) -> Channel | None:
        """Removes and returns the channel of a session, if it has one; the caller must close it."""
        channel = self._open.pop(session, None)
        if channel is not None:
            self._waiting.unwatch(channel.fileno())
        return channel

    def keep_unsent(self, session: ServedSession) -> None:
        """Copies the unsent part of the last reply, before the session serves another request."""
        channel = self._open.get(session)
        if channel is not None and channel.unsent:
            channel.keep_unsent()

    def linger(self, session: ServedSession, channel: Channel) -> None:
        """Closes a released channel once its last reply is sent, or `SEND_SECONDS` have passed."""
        if channel.unsent:
            self._lingering.add(channel)
            self._wait_for_reader(session, channel, [])
        else:
            channel.close()

    def finish(self) -> None:
        """Gives clients a moment to read last replies before the process exits."""
        deadline = time.monotonic() + _FINISH_SECONDS
        for channel in self._lingering:
            channel.finish(max(deadline - time.monotonic(), 0.001))

    def close_all(self) -> None:
        """Closes all channels in a copy of the process, since they belong to the original."""
        released = [self.release(session) for session in list(self._open)]
        for channel in (*released, *self._lingering):
            if channel is not None:
                channel.close_copy()

    def _watch(self, session: ServedSession, channel: Channel) -> None:
        serve = partial(self._serve, session, channel)
        self._waiting.watch(channel.fileno(), serve, channel.mailbox)

    def _serve(self, session: ServedSession, channel: Channel) -> None:
        try:
            self._serve_all(session, channel, channel.receive())
        except ChannelError:
            self._lose(session, channel)

    def _serve_all(self, session: ServedSession, channel: Channel, requests: list[bytes]) -> None:
        """Serves the received requests while the client reads the replies. Requests after a close are dropped.

        Raises:
            ChannelError: The connection is gone.
        """
        while requests and self._open.get(session) is channel:
            self._answer(session, channel, requests.pop(0))
            if channel.unsent and self._open.get(session) is channel:
                self._wait_for_reader(session, channel, requests)
                return

    def _wait_for_reader(
        self, session: ServedSession, channel: Channel, requests: list[bytes]
    ) -> None:
        """Stops reading from a client until it has read the reply; closes its connection if that takes too long."""
        self._waiting.watch_writable(
            channel.fileno(),
            partial(self._flush, session, channel, requests),
            SEND_SECONDS,
            partial(self._lose, session, channel),
        )

    def _flush(self, session: ServedSession, channel: Channel, requests: list[bytes]) -> None:
        try:
            channel.flush()
            if channel in self._lingering:  # its time is not extended
                if not channel.unsent:
                    self._lose(session, channel)
            elif channel.unsent:
                self._wait_for_reader(session, channel, requests)
            else:
                self._watch(session, channel)
                self._serve_all(session, channel, requests)
        except ChannelError:
            self._lose(session, channel)

    def _lose(self, session: ServedSession, channel: Channel) -> None:
        if channel in self._lingering:
            self._lingering.remove(channel)
            self._waiting.unwatch(channel.fileno())
            channel.close()
        elif self._open.get(session) is channel:
            self.close(session)
