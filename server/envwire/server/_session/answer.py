"""The answer to a request, while it is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from envwire.v1 import environment_pb2
from envwire.wire.frames import Attachments


@dataclass
class Answer:
    """An answer under construction.

    Attributes:
        attachments: Receives large arrays, which are sent beside the message; None to write them into it.
        message: The message.
    """

    attachments: Attachments | None
    message: environment_pb2.InteractResponse = field(
        default_factory=environment_pb2.InteractResponse
    )
