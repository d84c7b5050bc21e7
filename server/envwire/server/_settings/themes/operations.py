"""Settings of logs, metrics, traces and watching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import LOG_FORMAT, OPTIONAL_PORT, PART
from envwire.server._settings.setting import setting

_setting = partial(setting, "Operations")


@dataclass(frozen=True, kw_only=True)
class OperationsSettings:
    """Settings for operators and watchers."""

    log_format: str = _setting(
        "text",
        "Form of the log: text, or json for one object a line, with session, client, environment and reason as "
        "fields.",
        LOG_FORMAT,
    )
    http_port: int = _setting(
        0,
        "Port of HTTP for operators: /livez and /readyz for probes, /metrics for Prometheus; 0 for none.",
        OPTIONAL_PORT,
    )
    count_episodes: bool = _setting(
        False,
        "Count episodes with their returns and lengths, for /metrics, watchers and the live page. --http-port and "
        "--dashboard do so as well.",
    )
    frames: bool = _setting(
        False,
        'Let watchers see pictures of environments that were made with render_mode="rgb_array": twice a second at '
        "most, between requests.",
    )
    otel: bool = _setting(
        False,
        "Trace Make and Reset over gRPC with OpenTelemetry, and send the spans by OTLP over HTTP where its "
        "variables say (OTEL_EXPORTER_OTLP_ENDPOINT). It takes the extra: pip install 'envwire[otel]'.",
    )
    otel_steps: float = _setting(
        0.0, "Part of the steps over gRPC that --otel traces as well, 0 to 1.", PART
    )
    watch_others: bool = _setting(
        False,
        "Let scope watch show pictures, output and errors of all sessions, not only of those that the token made.",
    )
