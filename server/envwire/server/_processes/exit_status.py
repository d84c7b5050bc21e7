"""What the exit status of a session process tells."""

from __future__ import annotations

import signal

#: Why the kernel may have ended a process, by the signal that it used.
SUSPICIONS: dict[int, str] = {
    signal.SIGXCPU: "it used up its processor time (--max-session-cpu)",
    signal.SIGKILL: "this machine or container may be out of memory",
}
