"""Servers of a later version, and unusual ones: what is unknown is passed over."""

from __future__ import annotations

from typing import Any

from envwire.conformance.client.behaviours import (
    Addressing,
    Advertising,
    Noticing,
    Odd,
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
    """Every answer has a field that the client does not know."""
    _played(stage)


@scenario("NOTICE-1 NOTICE-3 NOTICE-5", Noticing)
def notices_are_passed_over_or_told(stage: Stage) -> None:
    """Notices, one of an unknown kind among them, disturb no answer."""
    _played(stage)


@scenario("DIRECT-4 DIRECT-5 DIRECT-6", Addressing, over=("direct",))
def other_addresses_are_tried(stage: Stage) -> None:
    """The first addresses are of an unknown form, and dead; the next one is right."""
    _played(stage)


@scenario("FRAME-4", Splitting, over=("direct",))
def frames_in_pieces_are_read(stage: Stage) -> None:
    """Frames arrive in pieces of seven bytes."""
    _played(stage)


@scenario("DIRECT-7", Unreachable, over=("direct",))
def without_an_address_there_is_grpc(stage: Stage) -> None:
    """Nobody is at any address; a client that may choose goes on with gRPC."""
    _played(stage, transport="auto")


@scenario("SESSION-23", Advertising)
def the_address_that_answered_is_kept(stage: Stage) -> None:
    """Nobody is at the advertised address; the client stays where its Make was answered."""
    _played(stage)
