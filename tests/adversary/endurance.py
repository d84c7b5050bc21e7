"""Endurance test: thousands of sessions one after another, and steps for minutes, without growing resource use.

python -m tests.adversary.endurance --makes 5000 --seconds 150
python -m tests.adversary.endurance --makes 5000 --seconds 150 --packed

It ends with status 1 when processes, descriptors or sessions are left over, or the front's memory has grown.
"""

from __future__ import annotations

import argparse
import sys
import time

from envwire.v1 import values_pb2
from tests.adversary.channel import DirectChannel
from tests.adversary.client import Attacker
from tests.adversary.ledger import Ledger, descriptors_of, eventually, memory_of
from tests.adversary.messages import Session
from tests.adversary.servers import Target, attacked

CARTPOLE = "CartPole-v1"
#: Sessions before anything is compared, by which time every cache is full.
WARM_UP = 200
#: Processes of a server with one session: the front, the fork server, the session's.
AT_REST = 3
LEFT = values_pb2.Value(int_value=0)
#: What the front remembers of 4,096 sessions that ended, and free memory that it may keep: 6 MiB and 24 MiB.
KEPT_BYTES = 30 * 2**20


def use(target: Target) -> str:
    """Prints the resources of a server after closed sessions have ended: of the front, and of all its processes."""
    eventually(lambda: len(target.processes()) <= AT_REST)
    front = Ledger.of(target)
    processes = target.processes()
    memory = sum(map(memory_of, processes)) / 2**20
    descriptors = sum(max(descriptors_of(pid), 0) for pid in processes)
    return (
        f"front {front.memory / 2**20:.1f} MiB, {front.descriptors} descriptors; {front.processes} processes, "
        f"{memory:.1f} MiB, {descriptors} descriptors; {front.sessions} sessions"
    )


def make_and_close(target: Target, attacker: Attacker, times: int) -> None:
    """Repeatedly makes an environment, resets it over its direct channel and closes it."""
    for count in range(times):
        if count % max(times // 5, 1) == 0:
            print(f"{count:7} sessions: {use(target)}", flush=True)
        session = attacker.make(CARTPOLE)
        with DirectChannel(session, unix=bool(count % 2)) as channel:
            channel.ask("reset", 1)
            channel.ask("close", 2)
    print(f"{times:7} sessions: {use(target)}", flush=True)


def step(target: Target, session: Session, seconds: float) -> None:
    """Steps for so long."""
    taken, begun, told = 1, time.monotonic(), 0.0
    with DirectChannel(session) as channel:
        channel.ask("reset", 1)
        while (passed := time.monotonic() - begun) < seconds:
            if passed >= told:
                told += seconds / 5
                print(f"{taken - 1:7} steps: {use(target)}", flush=True)
            taken += 1
            answer = channel.ask("step", taken, action=LEFT).step
            if answer.terminated or answer.truncated:
                taken += 1
                channel.ask("reset", taken)
        print(f"{taken - 1:7} steps and resets: {use(target)}", flush=True)


def kept(target: Target, before: Ledger) -> str:
    """Returns the resources that the server uses in addition to before; empty if there are none."""
    eventually(lambda: not Ledger.of(target).kept_since(before, KEPT_BYTES))
    return Ledger.of(target).kept_since(before, KEPT_BYTES)


def main() -> int:
    """Runs it, and returns the status to end with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--makes", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--packed", action="store_true", help="eight sessions to a process")
    options = parser.parse_args()
    with (
        attacked(CARTPOLE, sessions_per_process=8 if options.packed else 1) as target,
        target.attacker() as attacker,
    ):
        stays = attacker.make(CARTPOLE, lease=3600)  # in packed mode the others join it
        make_and_close(target, attacker, WARM_UP)
        before = Ledger.of(target)
        make_and_close(target, attacker, options.makes)
        step(target, stays, options.seconds)
        left = kept(target, before)
    print(f"not as before: {left}" if left else "all as before")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
