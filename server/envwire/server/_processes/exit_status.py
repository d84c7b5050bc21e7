"""Describes the exit status of a session process in words."""

from __future__ import annotations

import signal

#: Likely cause of a process's death, by signal.
_SUSPICIONS: dict[int, str] = {
    signal.SIGXCPU: "it used up its processor time (--max-session-cpu)",
    signal.SIGKILL: "this machine or container may be out of memory",
}


def describe_exit(status: int | None) -> str:
    """Describes how a process ended: "exited with status 1", "was killed by SIGSEGV".

    Args:
        status: Its exit status, negative for the signal that killed it; None if unknown.
    """
    if status is None:
        return "closed its connection"
    if status >= 0:
        return f"exited with status {status}"
    try:
        how = f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        how = f"was killed by signal {-status}"
    return how + (f" ({why})" if (why := _SUSPICIONS.get(-status)) else "")
