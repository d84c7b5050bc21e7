"""The memory of a mailbox, which a session process shares with a client on the same machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from envwire.server._worker.direct.shared_memory import sealed_memory
from envwire.wire.mailbox import BOX_BYTES, ORDERED, Mailbox


class Boxes:
    """The two boxes of a channel, both of whose readers sleep.

    Attributes:
        descriptor: Descriptor of the memory, for the client.

    Raises:
        OSError: There is not enough memory.
    """

    def __init__(self) -> None:
        self.descriptor, self._memory = sealed_memory("envwire-mailbox", 2 * BOX_BYTES)
        Mailbox.prepare(self._memory, BOX_BYTES)

    def mailbox(self, wake: Callable[[bytes], object]) -> Mailbox:
        """Returns the server's end (see `Mailbox`)."""
        return Mailbox(self._memory, BOX_BYTES, wake, server=True)

    def close_descriptor(self) -> None:
        """Closes the descriptor once the client has been given it."""
        os.close(self.descriptor)


def new_boxes() -> Boxes | None:
    """Allocates boxes; None if memory is short, or this machine can have no mailboxes."""
    try:
        return Boxes() if ORDERED else None
    except OSError:  # the client then gets all frames on the socket
        return None
