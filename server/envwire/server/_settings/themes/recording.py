"""Settings of session recordings: directory, redaction and retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import LIMIT, NOT_NEGATIVE, FilePath
from envwire.server._settings.setting import About

_about = partial(About, "Recording")


@dataclass(frozen=True, kw_only=True)
class RecordingSettings:
    """Settings of recordings."""

    record: Annotated[
        FilePath,
        _about(
            "Directory to record sessions in, a file each: all that clients ask and environments answer. Clients are "
            "told. Empty for no recordings.",
        ),
    ] = ""
    record_redact: Annotated[
        Sequence[str],
        _about(
            "Name, or pattern such as '*_key', of keyword arguments, options, info entries and attributes whose values "
            "are not recorded."
        ),
    ] = ()
    record_max_session_bytes: Annotated[
        int,
        _about(
            "Bytes of one recording, which ends there while its session goes on; 0 for no limit.",
            LIMIT,
        ),
    ] = 1024 * 1024 * 1024
    record_max_bytes: Annotated[
        int,
        _about(
            "Bytes of all recordings in the directory, beyond which the oldest finished ones are deleted; 0 for no "
            "limit.",
            LIMIT,
        ),
    ] = 10 * 1024 * 1024 * 1024
    record_max_age: Annotated[
        float,
        _about("Seconds after which a finished recording is deleted; 0 to keep it.", NOT_NEGATIVE),
    ] = 0.0
