"""The sections of docs/protocol.md, by the prefix of the ids of their sentences."""

from __future__ import annotations

#: Sections that say what peers do. The others tell how to begin, show, or advise.
SECTIONS = {
    "METHOD": "Methods",
    "SESSION": "Sessions",
    "SEQUENCE": "Request numbers: exactly once",
    "LEASE": "Leases and deadlines",
    "STATE": "States of a session",
    "VALUE": "Values",
    "DRIVE": "Driving an environment",
    "VECTOR": "Vector environments",
    "REPLAY": "Replay",
    "SAVE": "Saved states",
    "ERROR": "Errors",
    "NOTICE": "Notices",
    "ACCESS": "Access",
    "DIRECT": "The direct channel",
    "OPEN": "Opening",
    "FRAME": "Frames",
    "MEMORY": "Shared memory",
    "END": "When it ends",
    "BOUND": "Its limits and its safety",
    "LIMIT": "Limits, health, reflection",
    "COMPAT": "Compatibility",
}


def section_of(sentence: str) -> str:
    """Returns the title of the section that holds a sentence, "SEQUENCE-4" for instance."""
    return SECTIONS[sentence.rpartition("-")[0]]
