"""Encodes the spaces of an environment as messages."""

from __future__ import annotations

from typing import Any

from envwire.codec import CodecError, FaultError, Reason, encode_space


def write_spaces(env: Any, message: Any, *names: str) -> None:
    """Writes spaces of `env` into the fields of `message` with the same names.

    Raises:
        FaultError: UNSUPPORTED: a space has no wire form.
    """
    try:
        for name in names:
            encode_space(getattr(env, name), getattr(message, name), name)
    except CodecError as error:
        raise FaultError(Reason.UNSUPPORTED, str(error)) from error
