"""Memory of a device that a session shares with its client on the same machine, for arrays of torch, JAX and CuPy.

It belongs to the session, not to a channel: a client that opens another channel finds what its last request and the
kept reply refer to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from envwire.device.device_memory import ALIGNMENT
from envwire.device.devices import DeviceError, Identity
from envwire.device.memory import allocate
from envwire.device.shared_arrays import SharedArrays
from envwire.server._worker.direct.shared_memory import bytes_of
from envwire.v1 import direct_pb2

#: Bytes for rewards, flags, masks and what else is in infos, besides those that are known from the spaces.
_BESIDES: Final = 1 << 16
#: Bytes of these for each member of a vector environment.
_PER_MEMBER: Final = 256


@dataclass(frozen=True)
class SharedDevice:
    """Shared memory of a device.

    Attributes:
        identity: The device.
        arrays: The session's end of the memory.
        answer_bytes: Bytes of the part for answers.
    """

    identity: Identity
    arrays: SharedArrays
    answer_bytes: int

    def describe(self, welcome: direct_pb2.Welcome) -> int:
        """Describes the memory in a welcome, and returns the descriptor to send with it."""
        memory = self.arrays.memory
        welcome.device_memory.bytes = memory.size
        welcome.device_memory.answer_bytes = self.answer_bytes
        return memory.descriptor


def share_device(budget: int, identity: Identity, env: Any) -> SharedDevice:
    """Allocates memory for the arrays of an environment's answers, and of its actions.

    What does not fit is sent in the message. An answer may hold observations twice: "final_obs" are in its info.

    Args:
        budget: Largest size, in bytes.
        identity: The device.
        env: The environment.

    Raises:
        DeviceError: It is another device than this process sees, or too little memory is left.
    """
    besides = _BESIDES + _PER_MEMBER * getattr(env, "num_envs", 1)
    request = bytes_of(env.action_space) + besides
    answer = min(2 * bytes_of(env.observation_space) + besides, budget - request)
    answer -= answer % ALIGNMENT
    if answer <= 0:
        raise DeviceError(f"--device-memory {budget} is less than the environment needs")
    memory = allocate(identity, answer + request)
    arrays = SharedArrays(memory, range(answer), range(answer, memory.size))
    return SharedDevice(identity, arrays, answer)
