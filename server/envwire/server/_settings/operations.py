"""Settings for operators: logs, metrics, traces and watching, recordings, and the farm that the server joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from envwire.server._settings import checks
from envwire.server._settings.checks import FilePath
from envwire.server._settings.listening import host_of, is_loopback
from envwire.server._settings.setting import setting

_operation, _recording, _farm = (
    partial(setting, theme) for theme in ("Operations", "Recording", "Farm")
)


@dataclass(frozen=True, kw_only=True)
class OperationsSettings:
    """Settings for operators and watchers."""

    log_format: str = _operation(
        "text",
        "Form of the log: text, or json for one object a line, with session, client, environment and reason as "
        "fields.",
        checks.LOG_FORMAT,
    )
    http_port: int = _operation(
        0,
        "Port of HTTP for operators: /livez and /readyz for probes, /metrics for Prometheus; 0 for none.",
        checks.OPTIONAL_PORT,
    )
    count_episodes: bool = _operation(
        False,
        "Count episodes with their returns and lengths, for /metrics, watchers and the live page. --http-port and "
        "--dashboard do so as well.",
    )
    frames: bool = _operation(
        False,
        'Let watchers see pictures of environments that were made with render_mode="rgb_array": twice a second at '
        "most, between requests.",
    )
    otel: bool = _operation(
        False,
        "Trace Make and Reset over gRPC with OpenTelemetry, and send the spans by OTLP over HTTP where its "
        "variables say (OTEL_EXPORTER_OTLP_ENDPOINT). It takes the extra: pip install 'envwire[otel]'.",
    )
    otel_steps: float = _operation(
        0.0, "Part of the steps over gRPC that --otel traces as well, 0 to 1.", checks.PART
    )
    watch_others: bool = _operation(
        False,
        "Let scope watch show pictures, output and errors of all sessions, not only of those that the token made.",
    )


@dataclass(frozen=True, kw_only=True)
class RecordingSettings:
    """Settings of recordings."""

    record: FilePath = _recording(
        "",
        "Directory to record sessions in, a file each: all that clients ask and environments answer. Clients are "
        "told. Empty for no recordings.",
    )
    record_redact: Sequence[str] = _recording(
        (),
        "Name, or pattern such as '*_key', of keyword arguments, options, info entries and attributes whose values "
        "are not recorded.",
    )
    record_max_session_bytes: int = _recording(
        1024 * 1024 * 1024,
        "Bytes of one recording, which ends there while its session goes on; 0 for no limit.",
        checks.LIMIT,
    )
    record_max_bytes: int = _recording(
        10 * 1024 * 1024 * 1024,
        "Bytes of all recordings in the directory, beyond which the oldest finished ones are deleted; 0 for no "
        "limit.",
        checks.LIMIT,
    )
    record_max_age: float = _recording(
        0.0,
        "Seconds after which a finished recording is deleted; 0 to keep it.",
        checks.NOT_NEGATIVE,
    )


@dataclass(frozen=True, kw_only=True)
class FarmSettings:
    """Settings of a server in a farm."""

    join: Sequence[str] = _farm(
        (),
        "HOST:PORT of a farm's gateway to register with; repeat, or separate by commas.",
        checks.ADDRESSES,
    )
    tunnel: bool = _farm(
        False,
        "For servers that the gateways cannot connect to: the server connects to them, and they relay all that "
        "clients do there.",
    )
    join_token: FilePath = _farm("", "File with the token, of scope join, for the gateways.")
    join_ca: FilePath = _farm("", "PEM file of the CA that issued the gateways' certificates.")
    labels: Sequence[str] = _farm(
        (), "NAME=VALUE that allocations in the farm can ask for.", checks.PAIRS, option="--label"
    )

    @property
    def gateways(self) -> list[str]:
        """HOST:PORT of each gateway."""
        return [name for names in self.join for name in names.split(",") if name]

    def readable_way(self, *, insecure: bool) -> str:
        """Returns a gateway to which others could read what is sent; empty for none.

        Args:
            insecure: Whether the network is trusted.
        """
        trusted = self.join_ca or insecure
        return next(
            (name for name in self.gateways if not (trusted or is_loopback(host_of(name)))), ""
        )

    def check_tunnel(self, *, insecure: bool) -> None:
        """Checks that a tunnel has a gateway, and that others cannot read it.

        Args:
            insecure: Whether the network is trusted.

        Raises:
            ValueError: A setting is missing; the message names it.
        """
        if self.tunnel and not self.gateways:
            raise ValueError("--tunnel is for servers of a farm; name its gateway with --join")
        if self.tunnel and (far := self.readable_way(insecure=insecure)):
            raise ValueError(
                f"refusing a tunnel to {far} without TLS: anybody on the way could read what clients do, and their "
                "tokens. Give --join-ca; or say --insecure when the network is trusted"
            )
