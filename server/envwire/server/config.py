"""The server's settings: adding a field to its theme in `_settings/groups` is all that a new setting needs.

Its name is the keyword of `Server` and the key in a TOML file; the option of `envwire serve`, the environment
variable, the row in docs/settings.md and the checks come from its annotation.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from envwire.server._settings.groups.farm import FarmSettings
from envwire.server._settings.groups.hosting import HostingSettings
from envwire.server._settings.groups.limits import LimitsSettings
from envwire.server._settings.groups.operations import OperationsSettings
from envwire.server._settings.groups.recording import RecordingSettings
from envwire.server._settings.groups.safety import SafetySettings
from envwire.server._settings.listening import check_listening, is_loopback
from envwire.server._settings.setting import check_all, settings_of


@dataclass(frozen=True, kw_only=True)
class ServerConfig(
    # A dataclass takes the fields of its last base first: options and documentation list the themes from there on.
    FarmSettings,
    OperationsSettings,
    SafetySettings,
    RecordingSettings,
    LimitsSettings,
    HostingSettings,
):
    """Settings of one server; docs/settings.md describes them. Times are in seconds.

    Raises:
        ValueError: Nothing to serve, a public address without protection, or a value that cannot be.
    """

    #: Directories to put in front of the module search path. Set by programs, not by operators.
    sys_path: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuses settings that cannot work."""
        check_all(SETTINGS, self)
        if not self.environments:
            raise ValueError(
                "nothing to serve: name at least one environment id or pattern, such as CartPole-v1"
            )
        check_listening(self)
        if self.openenv and self.tls_client_ca:
            raise ValueError(
                "--openenv does not go with --tls-client-ca: OpenEnv's clients show no certificate; give --tokens"
            )
        if self.dev and (self.sessions_per_process > 1 or self.join):
            raise ValueError(
                "--dev goes neither with --sessions-per-process, since a process keeps the code that it began with, "
                "nor with --join"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def to_json(self) -> str:
        """Returns the settings as one line of JSON, for the processes of this server."""
        return json.dumps(dataclasses.asdict(self), default=os.fspath)

    @classmethod
    def from_json(cls, text: str) -> ServerConfig:
        """Reads what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**freeze_lists(fields))


def freeze_lists(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields with a tuple for each list, set or the like; a single text is none of them."""
    return {name: _frozen(value) for name, value in fields.items()}


def _frozen(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return tuple(cast("Iterable[object]", value))


#: All that an operator sets, by name.
SETTINGS = settings_of(ServerConfig)
