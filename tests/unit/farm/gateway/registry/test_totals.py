"""Totals of a farm grow only, and count nothing twice: a restarted gateway, a server that leaves or starts again."""

from __future__ import annotations

from envwire.farm.v1 import farm_pb2 as pb
from tests.unit.farm.gateway.registry.test_registry import Farm


def test_totals_grow_by_what_servers_did_since_their_first_report() -> None:
    farm = Farm()
    told: list[int] = []

    def report(member: object, steps: int) -> None:
        load = pb.ServerLoad(totals=pb.ServerTotals(steps=steps))
        farm.registry.report(member, load, farm.now)  # type: ignore[arg-type]
        told.append(farm.registry.totals.steps)

    one, two = farm.add("a"), farm.add("b")
    report(one, 1000)  # it had them when this gateway started
    report(one, 1010)
    report(two, 0)
    report(two, 5)
    for each in (one, two):
        farm.registry.leave(each, farm.now)
    again = farm.add("a", run="2")
    report(again, 0)
    report(again, 7)
    report(again, 3)  # which a hostile environment wrote
    assert told == [0, 10, 10, 15, 15, 22, 22]
