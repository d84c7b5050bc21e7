"""What the kernel does not hold of the promises in docs/security.md, for the operator."""

from __future__ import annotations

from envwire.server._worker.confining.landlock import landlock_version
from envwire.server._worker.confining.system_calls import filters_calls

#: What environments can do where Landlock is older than a version, and since when Linux has that.
_BEFORE = {
    6: ("signal the server and each other's processes", "6.12"),
    3: ("empty the server's tokens, keys and recordings", "6.2"),
}
_WITHOUT = (
    "read and change the server's tokens, keys and recordings, and reach each other's processes: this kernel has no "
    "Landlock (Linux 5.13, in /sys/kernel/security/lsm)"
)
_UNFILTERED = "lower limits and priorities of other processes: this kernel has no seccomp filters"


def not_held(landlock: int | None = None, seccomp: bool | None = None) -> str:
    """Returns what environments can do on this kernel in one line; "" if it holds every promise.

    Args:
        landlock: The version of Landlock, 0 for none; by default this kernel's.
        seccomp: Whether calls can be filtered; by default whether this kernel can.
    """
    landlock = landlock_version() if landlock is None else landlock
    seccomp = filters_calls() if seccomp is None else seccomp
    missing = [
        f"{what} (Linux {linux})" for since, (what, linux) in _BEFORE.items() if landlock < since
    ]
    told = [*(missing if landlock else [_WITHOUT]), *([] if seccomp else [_UNFILTERED])]
    return "environments can " + "; they can ".join(told) if told else ""
