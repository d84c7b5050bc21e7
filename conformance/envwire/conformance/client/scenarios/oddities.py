"""Later versions of servers, and unusual ones: clients ignore what they do not know."""

from __future__ import annotations

from typing import Any

from envwire.conformance.client.behaviours import (
    AdvertisesDeadAddress,
    DeadAddressesFirst,
    DeadAddressesOnly,
    NamesEntryPoints,
    SplitsFrames,
    UnknownFields,
    WithNotices,
)
from envwire.conformance.client.scenario import ScenarioContext, scenario


def _played(context: ScenarioContext, **options: Any) -> None:
    context.make(lease=20, **options)
    context.reset(1)
    context.counts([1, 0, 1, 1])
    context.close()


@scenario("COMPAT-2", UnknownFields)
def unknown_fields_are_passed_over(context: ScenarioContext) -> None:
    """Unknown fields in every answer are ignored."""
    _played(context)


@scenario("NOTICE-1 NOTICE-3 NOTICE-5", WithNotices)
def notices_are_passed_over_or_told(context: ScenarioContext) -> None:
    """Notices, including one of an unknown kind, do not disturb answers."""
    _played(context)


@scenario("DIRECT-4 DIRECT-5 DIRECT-6", DeadAddressesFirst, over=("direct",))
def other_addresses_are_tried(context: ScenarioContext) -> None:
    """If the first addresses are of unknown form or dead, the client tries the next."""
    _played(context)


@scenario("FRAME-4", SplitsFrames, over=("direct",))
def frames_in_pieces_are_read(context: ScenarioContext) -> None:
    """Frames that arrive in pieces of seven bytes are read."""
    _played(context)


@scenario("DIRECT-7", DeadAddressesOnly, over=("direct",))
def without_an_address_there_is_grpc(context: ScenarioContext) -> None:
    """If no address answers, a client that may choose its transport goes on with gRPC."""
    _played(context, transport="auto")


@scenario("SESSION-23", AdvertisesDeadAddress)
def the_address_that_answered_is_kept(context: ScenarioContext) -> None:
    """If the advertised address does not answer, the client stays with the server that answered its Make."""
    _played(context)


@scenario("VALUE-28", NamesEntryPoints)
def an_entry_point_is_not_imported(context: ScenarioContext) -> None:
    """Entry points in a specification name a module that prints when it is imported; the client imports nothing."""
    _played(context)
