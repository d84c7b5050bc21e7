"""What the environments of a farm did since its gateway started. The sums only grow, also when servers leave."""

from __future__ import annotations

from dataclasses import dataclass

from envwire.farm.v1 import farm_pb2 as pb


@dataclass
class FarmTotals:
    """Sums over the servers of a farm, of what each did since its first report to this gateway.

    Attributes:
        steps: Steps of environments.
        episodes: Episodes that ended.
        losses: Sessions whose process died, or was killed because it hung.
        cpu_milliseconds: Processor time of the environments' processes.
    """

    steps: int = 0
    episodes: int = 0
    losses: int = 0
    cpu_milliseconds: int = 0

    def add(self, former: pb.ServerTotals | None, now: pb.ServerTotals) -> None:
        """Adds what a server did between two reports; what it did before the first one may be counted already."""
        for name in vars(self):
            done = getattr(now, name) - getattr(former or now, name)
            setattr(self, name, getattr(self, name) + max(done, 0))
