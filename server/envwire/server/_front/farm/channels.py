"""Direct channels of clients that reach only a gateway: the server connects to the gateway for each of them.

The gateway passes on the client's hello, by which the server checks that the session is the client's own. The
connection is then the session's direct channel, as if the client had connected.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from envwire.codec import FaultError, encode_fault
from envwire.farm.v1 import farm_pb2
from envwire.server._front.direct_listener import DirectListener, Peer
from envwire.server._front.hello_frames import MOST_OPENING, RELAY_PREAMBLE
from envwire.server._front.pipe import begin_tls
from envwire.server._front.ports import set_options

_log = logging.getLogger("envwire.server")

#: Seconds in which the gateway has to accept the connection; its client waits for three.
CONNECT_SECONDS = 3.0

Answer = Callable[[farm_pb2.RegisterRequest], Awaitable[None]]


class ChannelOrders:
    """Executes the channel orders of one registration, until it is stopped.

    Args:
        direct: Hands connections to sessions.
        host: The gateway's host, with which the server registered: no other is ever connected to.
        tls: The authorities of the gateway's certificate; None for no TLS.
        answer: Sends an answer to the gateway.
    """

    def __init__(
        self, direct: DirectListener, host: str, tls: ssl.SSLContext | None, answer: Answer
    ) -> None:
        self._direct = direct
        self._host = host
        self._tls = tls
        self._answer = answer
        self._opening: set[asyncio.Task[None]] = set()

    def obey(self, order: farm_pb2.ChannelOrder) -> None:
        """Begins to open a channel, unless too many are being opened; a failure is sent as the answer."""
        task = asyncio.ensure_future(self._obey(order))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _obey(self, order: farm_pb2.ChannelOrder) -> None:
        answer = farm_pb2.ChannelAnswer(key=order.key)
        try:
            if len(self._opening) > MOST_OPENING:
                raise OSError(f"{MOST_OPENING} are being opened")
            await self._direct.admit_through_gateway(order.hello, self._connect(order))
        except FaultError as fault:
            encode_fault(fault, answer.error)
        except (OSError, asyncio.TimeoutError) as error:
            reason = str(error) or f"no answer within {CONNECT_SECONDS:g} s"
            _log.warning("no channel to %s:%d of the gateway: %s", self._host, order.port, reason)
        else:
            return
        await self._answer(farm_pb2.RegisterRequest(channel_answer=answer))

    async def _connect(self, order: farm_pb2.ChannelOrder) -> Peer:
        return await asyncio.wait_for(self._connected(order), CONNECT_SECONDS)

    async def _connected(self, order: farm_pb2.ChannelOrder) -> Peer:
        """Connects to the gateway, and shows the key there."""
        connection = plain = await _dial(self._host, order.port)
        far = connection
        try:
            address = str(connection.getpeername()[0])
            if self._tls is not None:
                plain, far = await begin_tls(connection, self._tls, self._host)
            await asyncio.get_running_loop().sock_sendall(plain, RELAY_PREAMBLE + order.key)
        except BaseException:
            plain.close()
            raise
        return Peer(plain, far, address)

    def stop(self) -> None:
        """Opens no more channels; those that are open stay."""
        for task in self._opening:
            task.cancel()


async def _dial(host: str, port: int) -> socket.socket:
    """Connects to the first address of a host that answers.

    Raises:
        OSError: None does.
    """
    loop = asyncio.get_running_loop()
    found: Any = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.setblocking(False)
            set_options(connection)
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise failure
