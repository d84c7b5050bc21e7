"""One WebSocket of the bridge: reads messages, answers them in a thread, times out silent or slow clients."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from starlette.websockets import WebSocket, WebSocketDisconnect

from envwire.openenv import messages
from envwire.openenv.messages import Code, Message, RefusedError
from envwire.openenv.session import Session

_SEND_SECONDS = 60.0
_CLOSE = "close"

#: Errors after which the session has no environment.
_FINAL = frozenset({Code.FACTORY_ERROR, Code.CAPACITY_REACHED, Code.SESSION_ERROR})


class Connection:
    """One client's connection and its session.

    Args:
        socket: The accepted WebSocket.
        session: The client's session.
        idle_timeout: Seconds without a message after which the connection is closed.
    """

    def __init__(self, socket: WebSocket, session: Session, idle_timeout: float) -> None:
        self._socket = socket
        self._session = session
        self._idle_timeout = idle_timeout
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="openenv")

    async def serve(self) -> None:
        """Answers messages until the client closes, disconnects or times out, then closes the environment."""
        try:
            while await self._serve_one():
                pass
        except (asyncio.TimeoutError, WebSocketDisconnect, RuntimeError):
            pass  # starlette raises RuntimeError when the peer left during a send
        finally:
            self._thread.submit(self._session.close)
            self._thread.shutdown(wait=False)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._socket.close(), _SEND_SECONDS)

    async def _serve_one(self) -> bool:
        """Answers one message; returns whether another may come."""
        text = await asyncio.wait_for(self._received(), self._idle_timeout)
        refused: RefusedError | None = None
        try:
            message = messages.read(text)
            if message.kind == _CLOSE:
                return False
            answer = await self._answered(message)
        except RefusedError as error:
            answer, refused = messages.error(error), error
        await asyncio.wait_for(self._socket.send_text(answer), _SEND_SECONDS)
        return refused is None or refused.code not in _FINAL

    async def _received(self) -> str:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect
        return message.get("text") or ""

    async def _answered(self, message: Message) -> str:
        # This wait is bounded by the server's deadlines, and by the client's, which are a little longer.
        answer: Callable[[Message], str] = self._session.answer
        return await asyncio.get_running_loop().run_in_executor(self._thread, answer, message)
