"""Settings of session recordings: directory, redaction and retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import LIMIT, NOT_NEGATIVE, FilePath
from envwire.server._settings.setting import setting

_setting = partial(setting, "Recording")


@dataclass(frozen=True, kw_only=True)
class RecordingSettings:
    """Settings of recordings."""

    record: FilePath = _setting(
        "",
        "Directory to record sessions in, a file each: all that clients ask and environments answer. Clients are "
        "told. Empty for no recordings.",
    )
    record_redact: Sequence[str] = _setting(
        (),
        "Name, or pattern such as '*_key', of keyword arguments, options, info entries and attributes whose values "
        "are not recorded.",
    )
    record_max_session_bytes: int = _setting(
        1024 * 1024 * 1024,
        "Bytes of one recording, which ends there while its session goes on; 0 for no limit.",
        LIMIT,
    )
    record_max_bytes: int = _setting(
        10 * 1024 * 1024 * 1024,
        "Bytes of all recordings in the directory, beyond which the oldest finished ones are deleted; 0 for no "
        "limit.",
        LIMIT,
    )
    record_max_age: float = _setting(
        0.0, "Seconds after which a finished recording is deleted; 0 to keep it.", NOT_NEGATIVE
    )
