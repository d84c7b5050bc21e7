"""Later versions of servers, and unusual ones: clients ignore what they do not know."""

from __future__ import annotations

from typing import Any

from envwire.conformance.client.behaviours import (
    Addressing,
    Advertising,
    Noticing,
    Odd,
    Pointing,
    Splitting,
    Unreachable,
)
from envwire.conformance.client.scenario import Stage, scenario


def _played(stage: Stage, **options: Any) -> None:
    stage.make(lease=20, **options)
    stage.reset(1)
    stage.counts([1, 0, 1, 1])
    stage.close()


@scenario("COMPAT-2", Odd)
def unknown_fields_are_passed_over(stage: Stage) -> None:
    """Unknown fields in every answer are ignored."""
    _played(stage)


@scenario("NOTICE-1 NOTICE-3 NOTICE-5", Noticing)
def notices_are_passed_over_or_told(stage: Stage) -> None:
    """Notices, including one of an unknown kind, do not disturb answers."""
    _played(stage)


@scenario("DIRECT-4 DIRECT-5 DIRECT-6", Addressing, over=("direct",))
def other_addresses_are_tried(stage: Stage) -> None:
    """If the first addresses are of unknown form or dead, the client tries the next."""
    _played(stage)


@scenario("FRAME-4", Splitting, over=("direct",))
def frames_in_pieces_are_read(stage: Stage) -> None:
    """Frames that arrive in pieces of seven bytes are read."""
    _played(stage)


@scenario("DIRECT-7", Unreachable, over=("direct",))
def without_an_address_there_is_grpc(stage: Stage) -> None:
    """If no address answers, a client that may choose its transport goes on with gRPC."""
    _played(stage, transport="auto")


@scenario("SESSION-23", Advertising)
def the_address_that_answered_is_kept(stage: Stage) -> None:
    """If the advertised address does not answer, the client stays with the server that answered its Make."""
    _played(stage)


@scenario("VALUE-28", Pointing)
def an_entry_point_is_not_imported(stage: Stage) -> None:
    """Entry points in a specification name a module that prints when it is imported; the client imports nothing."""
    _played(stage)
