"""One bidirectional gRPC stream in an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio

from envwire.client._errors import broken, timed_out
from envwire.client._transports.grpc.grpc_connection import INTERACT, open_loop_channel, status_of
from envwire.client._transports.grpc.grpc_transports import StreamTransport
from envwire.client._transports.loop_waits import LoopDeadline, OneAtATime
from envwire.codec.fastpath.attached_arrays import extract_arrays
from envwire.wire.envelope import RESPONSES, with_header
from envwire.wire.frames import Reply


class AsyncStreamTransport(OneAtATime):
    """One bidirectional stream for all requests of a session.

    Args:
        transport: A blocking transport connected to the same server; closing this one closes it too.
    """

    def __init__(self, transport: StreamTransport) -> None:
        self._blocking = transport
        self._connection = transport.connection
        self._channel: Any = None
        self._call: Any = None
        self._loop = asyncio.get_running_loop()
        # grpc.aio offers no deadline for one read. A timer that cancels the call costs less than `asyncio.wait_for`,
        # which makes a task.
        self._deadline = LoopDeadline(self._on_late)
        self._timeout = 0.0
        #: What to raise after this class has cancelled the call itself.
        self._reason: Exception | None = None

    def _open(self) -> Any:
        connection = self._connection
        self._loop = asyncio.get_running_loop()
        if self._channel is None:
            self._channel = open_loop_channel(connection.target, connection.credentials)
        return self._channel.stream_stream(INTERACT)(metadata=connection.metadata)

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        if self._call is None:
            self._call = self._open()
        call = self._call
        self._timeout, self._reason = timeout, None
        self._deadline.start(timeout)
        try:
            await call.write(with_header(request, header))
            message = await call.read()
        except asyncio.CancelledError:
            self._end()
            if self._reason is None:
                raise
            raise self._reason from None
        except grpc.RpcError as error:
            self._end()
            if status := status_of(error):
                return Reply(RESPONSES.wrap("error", status))
            raise self._connection.failure(error, timeout) from error
        except asyncio.InvalidStateError as error:
            self._end()
            raise self._stream_broken(error) from error
        finally:
            self._deadline.stop()
        if message is grpc.aio.EOF:
            self._end()
            raise broken(f"{self._connection.target} ended the stream")
        return extract_arrays(message)

    def _on_late(self) -> None:
        self._cancel(timed_out(self._connection.target, self._timeout))

    def interrupt(self) -> None:
        """Breaks the stream (see `AsyncTransport.interrupt`)."""
        self._cancel(self._stream_broken("the wait was ended"))

    def _cancel(self, reason: Exception) -> None:
        self._reason = reason
        if self._call is not None:
            self._call.cancel()

    def _stream_broken(self, error: object) -> Exception:
        return broken(f"the stream to {self._connection.target} broke: {error}")

    def _end(self) -> None:
        call, self._call = self._call, None
        if call is not None and not self._loop.is_closed():
            call.cancel()

    def leave_loop(self) -> None:
        """Detaches from the event loop and drops the channel (see `AsyncTransport.leave_loop`)."""
        self._deadline.close()
        self._end()
        self._channel = None

    def close(self) -> None:
        """Closes the stream and the channel (see `AsyncTransport.close`)."""
        self.leave_loop()
        self._blocking.close()
