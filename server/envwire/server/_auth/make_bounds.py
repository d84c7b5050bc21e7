"""Bounds on the size of one Make, checked before anything is decoded or looked up.

Lookups, comparisons and decoding take time in proportion to length, and block all clients of the front.
"""

from __future__ import annotations

from collections.abc import Iterator

from envwire.codec import FaultError, Reason
from envwire.v1 import environment_pb2

#: Most characters of an id, a library's name, a wrapper's name or a render mode.
MAX_NAME_CHARACTERS = 256
#: Most wrappers of one environment.
MAX_WRAPPERS = 64
#: Most keyword arguments of an environment, or of one wrapper.
MAX_KWARGS = 256


def check_bounds(request: environment_pb2.MakeRequest) -> None:
    """Refuses a Make that asks for more than any environment needs.

    Raises:
        FaultError: INVALID_VALUE, with the bound.
    """
    for what, count, most in _counts(request):
        if count > most:
            raise FaultError(Reason.INVALID_VALUE, f"{what}: {count}; a Make has at most {most}")


def _counts(request: environment_pb2.MakeRequest) -> Iterator[tuple[str, int, int]]:
    """Yields (name, count, limit), cheap counts first, so that a sequence that is too long is never iterated."""
    for what, name in (
        ("characters of env_id", request.env_id),
        ("characters of library", request.library),
        ("characters of prefer", request.prefer),
        ("characters of render_mode", request.render_mode),
    ):
        yield what, len(name), MAX_NAME_CHARACTERS
    yield "keyword arguments", len(request.kwargs.entries), MAX_KWARGS
    yield "wrappers", len(request.wrappers), MAX_WRAPPERS
    for wrapper in request.wrappers:
        yield "characters of a wrapper's name", len(wrapper.name), MAX_NAME_CHARACTERS
        yield "keyword arguments of a wrapper", len(wrapper.kwargs.entries), MAX_KWARGS
