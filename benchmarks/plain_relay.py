"""A plain relay of TCP: what any hop in user space costs, to compare a gateway with."""

from __future__ import annotations

import select
import socket
from typing import Any

#: Where it listens, at the ports of servers on 127.0.0.1.
HOP = "127.0.0.2"
_PIECE_BYTES = 1 << 18


def relay(pipe: Any, *ports: int) -> None:
    """Relays connections to ports until its process is ended; sends HOP once it listens."""
    listeners = {each.fileno(): each for each in (socket.create_server((HOP, p)) for p in ports)}
    poll, buffer = select.epoll(), memoryview(bytearray(_PIECE_BYTES))
    others: dict[int, tuple[socket.socket, socket.socket]] = {}
    for number in listeners:
        poll.register(number, select.EPOLLIN)
    pipe.send(HOP)
    while True:
        for number, _ in poll.poll():
            if number in listeners:
                near, _ = listeners[number].accept()
                far = socket.create_connection(("127.0.0.1", listeners[number].getsockname()[1]))
                for one, other in ((near, far), (far, near)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    others[one.fileno()] = one, other
                    poll.register(one.fileno(), select.EPOLLIN)
            elif number in others:
                _pass_on(poll, others, number, buffer)


def _pass_on(
    poll: select.epoll,
    others: dict[int, tuple[socket.socket, socket.socket]],
    number: int,
    buffer: memoryview,
) -> None:
    one, other = others[number]
    try:
        if count := one.recv_into(buffer):
            other.sendall(buffer[:count])
            return
    except OSError:
        pass
    for each in (one, other):
        poll.unregister(each.fileno())
        del others[each.fileno()]
        each.close()
