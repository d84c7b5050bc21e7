"""Selects the checks to run: by profile, by name, and by what the server offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import grpc

from envwire.conformance.outcomes import FailedError, SkippedError
from envwire.conformance.patterns import fits
from envwire.conformance.raw import Operator
from envwire.conformance.suite.checks import CHECKS, Check
from envwire.conformance.suite.scene import Scene


def _capability(name: str) -> Callable[[Scene], bool]:
    return lambda scene: name in scene.info.capabilities


def _has_attributes(scene: Scene) -> bool:
    session = scene.make()
    answer = session.ask("get_attribute", name="render_mode")
    return answer.kind == "get_attribute"


def _has_memory(scene: Scene) -> bool:
    made = scene.make("Big").made
    unix = [address for address in made.direct.addresses if address.startswith("unix-abstract:")]
    if not unix:
        return False
    link = scene.connect(made, unix[0])
    session = scene.attach(made, link)
    return link.hello(session.header, shared_memory=True).welcome.HasField("shared_memory")


def _has_health(scene: Scene) -> bool:
    try:
        scene.call("Check", b"", "grpc.health.v1.Health")
    except grpc.RpcError:
        return False
    return True


#: For each profile, whether a server offers what its checks need.
PROFILES: Mapping[str, Callable[[Scene], bool]] = {
    "core": lambda _: True,
    "info": lambda scene: bool(scene.info.version or scene.info.max_sessions),
    "stream": _capability("interact"),
    "attributes": _has_attributes,
    "direct": _capability("direct"),
    "direct-make": _capability("make"),
    "shared-memory": _has_memory,
    "states": _capability("save_state"),
    "replay": _capability("replay"),
    "vector": _capability("vector"),
    "fork": _capability("fork"),
    "ops": _has_health,
    "auth": lambda scene: bool(scene.access.token),
    "tls": lambda scene: bool(scene.access.ca),
    "operator": lambda scene: scene.access.operator != Operator(),
    "drain": lambda scene: bool(scene.access.stop),
}


@dataclass(frozen=True)
class Selection:
    """The user's selection of checks.

    Attributes:
        profiles: The profiles; empty for those that the server offers.
        run: Patterns of names, one of which has to match; empty for all.
        skip: Patterns of names to skip.
    """

    profiles: Collection[str] = ()
    run: Collection[str] = ()
    skip: Collection[str] = ()
    _offered: dict[str, bool] = field(default_factory=dict[str, bool])

    def checks(self) -> Iterator[Check]:
        """Yields the selected checks."""
        for check in CHECKS:
            wanted = not self.profiles or check.profile in self.profiles
            if wanted and fits(check.name, self.run or ("*",)) and not fits(check.name, self.skip):
                yield check

    def offers(self, profile: str, open_scene: Callable[[], Scene]) -> bool:
        """Returns whether the checks of a profile can run; profiles that the user named always run."""
        if profile in self.profiles:
            return True
        if profile not in self._offered:
            self._offered[profile] = _offered(profile, open_scene)
        return self._offered[profile]


def _offered(profile: str, open_scene: Callable[[], Scene]) -> bool:
    with open_scene() as scene:
        try:
            return PROFILES[profile](scene)
        except (FailedError, SkippedError):
            return False
