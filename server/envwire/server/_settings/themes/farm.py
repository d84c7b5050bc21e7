"""The farm that the server joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import ADDRESSES, PAIRS, FilePath
from envwire.server._settings.listening import host_of, is_loopback
from envwire.server._settings.setting import setting

_setting = partial(setting, "Farm")


@dataclass(frozen=True, kw_only=True)
class FarmSettings:
    """Settings of a server in a farm."""

    join: Sequence[str] = _setting(
        (),
        "HOST:PORT of a farm's gateway to register with; repeat, or separate by commas.",
        ADDRESSES,
    )
    tunnel: bool = _setting(
        False,
        "For servers that the gateways cannot connect to: the server connects to them, and they relay all that "
        "clients do there, which is slower.",
    )
    join_token: FilePath = _setting("", "File with the token, of scope join, for the gateways.")
    join_ca: FilePath = _setting("", "PEM file of the CA that issued the gateways' certificates.")
    labels: Sequence[str] = _setting(
        (), "NAME=VALUE that allocations in the farm can ask for.", PAIRS, option="--label"
    )

    @property
    def gateways(self) -> list[str]:
        """HOST:PORT of each gateway."""
        return [name for names in self.join for name in names.split(",") if name]

    def check_tunnel(self, *, insecure: bool) -> None:
        """Checks that a tunnel has a gateway, and that others cannot read it.

        Args:
            insecure: Whether the network is trusted.

        Raises:
            ValueError: A setting is missing; the message names it.
        """
        if self.tunnel and not self.gateways:
            raise ValueError("--tunnel is for servers of a farm; name its gateway with --join")
        far = [name for name in self.gateways if not is_loopback(host_of(name))]
        if self.tunnel and far and not (self.join_ca or insecure):
            raise ValueError(
                f"refusing a tunnel to {far[0]} without TLS: anybody on the way could read what clients do, and their "
                "tokens. Give --join-ca; or say --insecure when the network is trusted"
            )
