"""Arrays in memory of a device that two processes share: the memory, DLPack, and the libraries of arrays.

A session and its client share one piece of memory, of a GPU or of the machine itself. Each end copies arrays of torch,
JAX or CuPy into its own part, and sends a message that says where they are. The other end takes them from there, and
copies them out unless it was told not to. So nothing of a step passes through the host but the message.

Whoever sends a frame first waits for the device: for its own copies into the memory, and for all reads of what it took
from there. Then the other end may read, and overwrite its own part, without a lock.

Only `cuda_memory` knows CUDA. Everything else is the same, and tested, with `host_memory`.
"""
