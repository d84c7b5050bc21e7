"""A network of two machines, this one and a network namespace, connected by a wire that a program controls.

The wire is a pair of TUN devices. What comes out of one goes into the other: late, twice, in another order, or not at
all. So loss and disorder are seen by the kernels' own TCP, on a machine whose kernel need not know how to make them.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import os
import queue
import random
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")

#: From the range that is reserved for tests of networks.
HERE, THERE = "198.18.77.1", "198.18.77.2"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000
_PACKET_BYTES = 65536
_MOST_QUEUED = 0.1


@dataclass
class Weather:
    """What happens to packets.

    Attributes:
        loss: Share that is lost.
        delay: Seconds that each takes.
        disorder: Share that takes twice as long and a little more, so that later ones overtake it.
        twice: Share that arrives twice.
        rate: Bytes a second in each direction; 0 for any number. What would have to wait for longer than
            `_MOST_QUEUED` seconds is lost, as in a router.
        forgotten: Ports of TCP all of whose packets are lost, as in a router that has forgotten their connections.
    """

    loss: float = 0.0
    delay: float = 0.0
    disorder: float = 0.0
    twice: float = 0.0
    rate: float = 0.0
    forgotten: frozenset[int] = frozenset()


def why_not() -> str:
    """Returns why there can be no such network here; empty when there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"no TUN devices: {error}"
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return done.stderr.decode().strip()


class Network:
    """The namespace and the wire. All of it is gone when the program that made it is.

    Args:
        seed: Of what happens to packets.

    Attributes:
        weather: May be changed at any time.
        carried: Packets that arrived.
        lost: Packets that did not.
    """

    def __init__(self, seed: int = 0) -> None:
        self.weather = Weather()
        self.carried = self.lost = 0
        self._random = random.Random(seed)
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._late: list[tuple[float, int, int, bytes]] = []
        self._number = itertools.count()
        #: When each end has sent all that it was given.
        self._free: dict[int, float] = {}
        self._woken, self._waking = os.pipe()

    def __enter__(self) -> Self:
        self._here = _open_tun("envwire0", HERE)
        self._resident = threading.Thread(target=self._reside, daemon=True)
        self._resident.start()
        self._there: int = self.over_there(lambda: _open_tun("envwire0", THERE))
        self._carrier = threading.Thread(target=self._carry, daemon=True)
        self._carrier.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._waking)
        self._carrier.join(5.0)
        self._orders.put(None)
        self._resident.join(5.0)
        for descriptor in (self._here, self._there, self._woken):
            os.close(descriptor)

    def over_there(self, act: Callable[[], _T]) -> _T:
        """Calls a function in the other machine; the processes that it starts stay there."""
        answer: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def order() -> None:
            try:
                answer.put((act(), None))
            except BaseException as error:
                answer.put((None, error))

        self._orders.put(order)
        result, error = answer.get(timeout=60.0)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _reside(self) -> None:
        """Runs in the other machine: a namespace belongs to a thread, and to the processes that it starts."""
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace")
        _ip("link", "set", "lo", "up")
        while (order := self._orders.get()) is not None:
            order()

    def cut(self) -> None:
        """Drops all packets silently."""
        self.weather = Weather(loss=1.0)

    def mend(self) -> None:
        """Makes the weather fine."""
        self.weather = Weather()

    def unplug(self) -> None:
        """Takes the link down: this machine knows that there is no way."""
        _ip("link", "set", "envwire0", "down")

    def plug_in(self) -> None:
        """Takes the link up again."""
        _ip("link", "set", "envwire0", "up")

    def _carry(self) -> None:
        other = {self._here: self._there, self._there: self._here}
        while True:
            ready, _, _ = select.select([*other, self._woken], [], [], self._patience())
            if self._woken in ready:
                return
            for end in ready:
                try:
                    packet = os.read(end, _PACKET_BYTES)
                except OSError:  # its link is down
                    continue
                self._send_off(other[end], packet)
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(self._late)
                self._deliver(end, packet)

    def _patience(self) -> float:
        return max(0.0, self._late[0][0] - time.monotonic()) if self._late else 1.0

    def _send_off(self, end: int, packet: bytes) -> None:
        weather, chance = self.weather, self._random.random
        if chance() < weather.loss or (weather.forgotten & _ports(packet)):
            self.lost += 1
            return
        if (queued := self._queued(end, len(packet))) > _MOST_QUEUED:
            self.lost += 1
            return
        for _ in range(1 + (chance() < weather.twice)):
            delay = queued + weather.delay + (chance() < weather.disorder) * (weather.delay + 0.01)
            if delay:
                due = time.monotonic() + delay
                heapq.heappush(self._late, (due, next(self._number), end, packet))
            else:
                self._deliver(end, packet)

    def _queued(self, end: int, length: int) -> float:
        """Returns the seconds until a packet has left at the rate of the wire."""
        if not self.weather.rate:
            return 0.0
        now = time.monotonic()
        free = max(now, self._free.get(end, 0.0)) + length / self.weather.rate
        if free - now <= _MOST_QUEUED:
            self._free[end] = free
        return free - now

    def _deliver(self, end: int, packet: bytes) -> None:
        try:
            os.write(end, packet)
        except OSError:  # its link is down
            self.lost += 1
        else:
            self.carried += 1


def _ports(packet: bytes) -> frozenset[int]:
    """Returns the ports of a packet of TCP over IPv4."""
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return frozenset()
    return frozenset(struct.unpack_from("!2H", packet, (packet[0] & 15) * 4))


def _open_tun(name: str, address: str) -> int:
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI)
    fcntl.ioctl(descriptor, _TUNSETIFF, request)
    _ip("addr", "add", f"{address}/30", "dev", name)
    _ip("link", "set", name, "up")
    return descriptor


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=10.0)
