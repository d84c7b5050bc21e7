"""The fixed bytes of a step's answer, in the order in which they are written."""

from __future__ import annotations

import struct
from typing import Final

from envwire.v1 import environment_pb2
from envwire.wire.varints import FIXED64, LENGTH_DELIMITED, VARINT, tag

DOUBLE: Final = struct.Struct("<d")
_STEP: Final = environment_pb2.StepResponse
RESPONSE: Final = tag(environment_pb2.InteractResponse, "step", LENGTH_DELIMITED)
OBSERVATION: Final = tag(_STEP, "observation", LENGTH_DELIMITED)
REWARD: Final = tag(_STEP, "reward", FIXED64)
INFO: Final = tag(_STEP, "info", LENGTH_DELIMITED)
NO_INFO: Final = INFO + b"\0"

FLAGS: Final = {
    (terminated, truncated): tag(_STEP, "terminated", VARINT)
    + bytes((terminated,))
    + tag(_STEP, "truncated", VARINT)
    + bytes((truncated,))
    for terminated in (False, True)
    for truncated in (False, True)
}
"""The two flags. False is written too, so that answers keep their length and their fields keep their places."""

FLAGS_READ: Final = {written: flags for flags, written in FLAGS.items()}
FLAG_BYTES: Final = 4

TAIL: Final = struct.Struct("<1sd6s")
"""The bytes after the observation of a plain step: tag and reward, and the end."""

ENDS: Final = {flags: written + NO_INFO for flags, written in FLAGS.items()}
"""The ends of plain steps: both flags and an empty info."""

ENDS_READ: Final = {written: flags for flags, written in ENDS.items()} | {
    b"".join(FLAGS[flags][place : place + 2] for place in (0, 2) if flags[place // 2])
    + NO_INFO: flags
    for flags in FLAGS
}
"""The flags by the ends of plain steps, also without what is false, as other servers write them."""

TAILS_READ: Final = {
    tail.size: tail for tail in (struct.Struct(f"<1sd{len(end)}s") for end in ENDS_READ)
}
"""The bytes after the observation of a plain step, by their number."""

TYPED: Final = tuple(
    tag(_STEP, f"typed_{name}", LENGTH_DELIMITED) for name in ("reward", "terminated", "truncated")
)
"""Tags of a reward and flags that are not a plain number and plain booleans, in the order in which they are written."""
