"""Selects the checks to run: by profile, by name, and by what the server offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc

from envwire.conformance.outcomes import FailedError, SkippedError
from envwire.conformance.patterns import fits
from envwire.conformance.raw import Operator
from envwire.conformance.raw.direct_link import UNIX
from envwire.conformance.suite.checks import CHECKS, Check
from envwire.conformance.suite.context import CheckContext
from envwire.v1 import direct_pb2


def _capability(name: str) -> Callable[[CheckContext], bool]:
    return lambda context: name in context.info.capabilities


def _has_attributes(context: CheckContext) -> bool:
    session = context.make()
    answer = session.ask("get_attribute", name="render_mode")
    return answer.kind == "get_attribute"


def _welcome(context: CheckContext, form: str = UNIX, **asked: Any) -> direct_pb2.Welcome:
    """Returns the welcome at an address of a form to a hello that asks for more; an empty one if there is none."""
    made = context.make("Big").made
    found = [address for address in made.direct.addresses if address.startswith(form)]
    if not found:
        return direct_pb2.Welcome()
    link = context.connect(made, found[0])
    return link.hello(context.attach(made, link).header, **asked).welcome


def _has_memory(context: CheckContext) -> bool:
    return _welcome(context, shared_memory=True).HasField("shared_memory")


def _has_mailbox(context: CheckContext) -> bool:
    return _welcome(context, mailbox=True).HasField("mailbox")


def _has_encodings(context: CheckContext) -> bool:
    asked = [direct_pb2.ENCODING_ZSTD, direct_pb2.ENCODING_XOR_ZSTD]
    return bool(_welcome(context, ":", encodings=asked).encodings)


def _has_device_memory(context: CheckContext) -> bool:
    device = direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_HOST)
    return _welcome(context, device=device).HasField("device_memory")


def _has_health(context: CheckContext) -> bool:
    try:
        context.call("Check", b"", "grpc.health.v1.Health")
    except grpc.RpcError:
        return False
    return True


#: For each profile, whether a server offers what its checks need.
PROFILES: Mapping[str, Callable[[CheckContext], bool]] = {
    "core": lambda _: True,
    "info": lambda context: bool(context.info.version or context.info.max_sessions),
    "stream": _capability("interact"),
    "attributes": _has_attributes,
    "direct": _capability("direct"),
    "direct-make": _capability("make"),
    "shared-memory": _has_memory,
    "mailbox": _has_mailbox,
    "compression": _has_encodings,
    "device": _has_device_memory,
    "states": _capability("save_state"),
    "replay": _capability("replay"),
    "vector": _capability("vector"),
    "fork": _capability("fork"),
    "ops": _has_health,
    "auth": lambda context: bool(context.access.token),
    "tls": lambda context: bool(context.access.ca),
    "operator": lambda context: context.access.operator != Operator(),
    "drain": lambda context: bool(context.access.stop),
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

    def offers(self, profile: str, open_context: Callable[[], CheckContext]) -> bool:
        """Returns whether the checks of a profile can run; profiles that the user named always run."""
        if profile in self.profiles:
            return True
        if profile not in self._offered:
            self._offered[profile] = _offered(profile, open_context)
        return self._offered[profile]


def _offered(profile: str, open_context: Callable[[], CheckContext]) -> bool:
    with open_context() as context:
        try:
            return PROFILES[profile](context)
        except (FailedError, SkippedError):
            return False
