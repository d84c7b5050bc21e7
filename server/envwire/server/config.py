"""The server's settings. A new one is a field in one of the classes in `_settings`.

The field's name is the keyword of `Server` and the key in a TOML file. Its type and metadata determine the option of
`envwire serve`, the environment variable, the row in docs/settings.md and the checks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envwire.server._settings import hosting, limits, operations
from envwire.server._settings.checks import check_warm
from envwire.server._settings.listening import Listening, check_listening
from envwire.server._settings.setting import check_all, settings_of


@dataclass(frozen=True, kw_only=True)
class ServerConfig(
    # Dataclass fields come from the last base first; options and documentation list the themes in that order.
    operations.FarmSettings,
    operations.OperationsSettings,
    limits.SafetySettings,
    operations.RecordingSettings,
    limits.LimitsSettings,
    hosting.ProcessSettings,
    hosting.HostingSettings,
    Listening,
):
    """Settings of one server; docs/settings.md describes them. Times are in seconds.

    Raises:
        ValueError: Nothing to serve, a public address without protection, or an invalid value.
    """

    #: Directories to put in front of the module search path. Set by programs, not by operators.
    sys_path: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuses invalid and contradictory settings."""
        check_all(SETTINGS, self)
        self.take_off_brackets()
        if not self.environments:
            raise ValueError(
                "nothing to serve: name at least one environment id or pattern, such as CartPole-v1"
            )
        check_listening(self)
        if self.public and not (self.tokens or self.insecure):
            raise ValueError(
                "--public is for a server that others reach through a proxy: give --tokens, or say --insecure when "
                "all that reaches the proxy is trusted"
            )
        self.check_tunnel(insecure=self.insecure)
        if self.openenv and self.tls_client_ca:
            raise ValueError(
                "--openenv does not go with --tls-client-ca: OpenEnv's clients show no certificate; give --tokens"
            )
        if self.dev and (self.sessions_per_process > 1 or self.join or self.warm):
            raise ValueError(
                "--dev goes neither with --sessions-per-process and --warm, since a process keeps the code that it "
                "began with, nor with --join"
            )
        self._check_program()
        check_warm(self.warm, self.max_sessions, recorded=bool(self.record))

    def _check_program(self) -> None:
        """Refuses what a program as the host of the environments cannot have."""
        if not self.program:
            return
        if any(set(name) & set("*?[") for name in self.environments):
            raise ValueError(
                "--exec takes whole ids: the program alone knows which there are, so patterns match nothing"
            )
        of_python = ["imports", "allow_wrappers", "python", "dev"]
        for name in of_python:
            if getattr(self, name):
                raise ValueError(
                    f"{SETTINGS[name].option} is for environments in Python, not for --exec"
                )
        if self.sessions_per_process > 1:
            raise ValueError(
                "--exec does not go with --sessions-per-process: a program hosts one session"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return super().loopback and not (self.public or self.tunnel)

    @property
    def episodes_counted(self) -> bool:
        """Whether sessions count their episodes."""
        return self.count_episodes or bool(self.http_port)

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the processes of this server."""
        return json.dumps(asdict(self), default=os.fspath)

    @classmethod
    def from_json(cls, text: str) -> ServerConfig:
        """Parses the result of `to_json`."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**freeze_lists(fields))


def freeze_lists(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields with lists, sets and similar iterables as tuples; strings and tables stay as they are."""
    return {name: tuple(value) if _is_list(value) else value for name, value in fields.items()}


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping))


#: All settings of a server, by name.
SETTINGS = settings_of(ServerConfig)
