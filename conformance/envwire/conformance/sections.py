"""The sections of docs/protocol.md, by the prefix of the ids of their sentences."""

from __future__ import annotations

#: Sections that specify behaviour. The others are introductions, examples or advice.
SECTIONS = {
    "METHOD": "Methods",
    "SESSION": "Sessions",
    "SEQUENCE": "Request numbers: exactly once",
    "AHEAD": "Steps sent ahead",
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
    "ENCODE": "Encoded attachments",
    "MEMORY": "Shared memory",
    "MAILBOX": "Mailbox",
    "DEVICE": "Memory of a device",
    "END": "When it ends",
    "BOUND": "Its limits and its safety",
    "LIMIT": "Limits, health, reflection",
    "COMPAT": "Compatibility",
}


def section_of(sentence: str) -> str:
    """Returns the title of the section that contains a sentence, such as "SEQUENCE-4"."""
    return SECTIONS[sentence.rpartition("-")[0]]
