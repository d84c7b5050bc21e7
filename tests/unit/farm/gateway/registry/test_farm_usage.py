"""What clients used of a farm: sums of what servers report, which only grow, are bounded and can be shown."""

from __future__ import annotations

from envwire.farm.gateway.registry.farm_usage import FarmUsage
from envwire.farm.v1 import farm_pb2 as pb


def used(
    sessions: int,
    open_sessions: int,
    milliseconds: int,
    principal: str = "token ann",
    env_id: str = "Pole",
) -> pb.Usage:
    return pb.Usage(
        principal=principal,
        env_id=env_id,
        sessions=sessions,
        open_sessions=open_sessions,
        slot_milliseconds=milliseconds,
    )


def test_the_gateway_counts_from_its_start_on_with_the_sessions_that_are_open_then() -> None:
    usage = FarmUsage()
    first = usage.add(None, [used(10, 2, 60_000)])
    last = usage.add(first, [used(11, 1, 65_000)])
    assert usage.list([last]) == [used(3, 1, 5_000)]


def test_what_a_server_did_stays_when_it_leaves_or_begins_anew() -> None:
    usage = FarmUsage()
    usage.add(usage.add(None, []), [used(1, 1, 4_000)])
    usage.add(usage.add(None, []), [used(2, 0, 1_000)])
    assert usage.list([]) == [used(3, 0, 5_000)]


def test_one_that_counts_backwards_takes_nothing_away() -> None:
    usage = FarmUsage()
    first = usage.add({}, [used(5, 0, 5_000)])
    usage.add(first, [used(0, 0, 0)])
    assert usage.list([]) == [used(5, 0, 5_000)]


def test_clients_are_bounded_and_can_be_shown() -> None:
    usage = FarmUsage()
    for report in range(20):
        usage.add({}, [used(1, 0, 1, f"{report}-{each}") for each in range(1000)])
    listed = usage.list([])
    assert len(listed) == 10_001
    assert sum(each.sessions for each in listed) == 20_000
    usage = FarmUsage()
    usage.add({}, [used(1, 0, 1, "\x1b[2J" + "x" * 1000)])
    [shown] = usage.list([])
    assert shown.principal == "?[2J" + "x" * 251


def test_a_server_that_lies_stops_neither_the_reports_of_others_nor_the_list() -> None:
    """What it said of their client made their own reports too large to be added, which ended their registrations."""
    usage, most = FarmUsage(), 2**64 - 1
    liars = [usage.add({}, [used(most, 2**32 - 1, most)]) for _ in range(2)]
    usage.add({}, [used(1, 1, 1)])
    usage.add(None, [used(0, 1, 0)])
    assert usage.list(liars) == [used(most, 2**32 - 1, most)]


def test_two_entries_of_one_client_are_added() -> None:
    usage = FarmUsage()
    report = usage.add({}, [used(1, 1, 5), used(2, 1, 5)])
    assert usage.list([report]) == [used(3, 2, 10)]
