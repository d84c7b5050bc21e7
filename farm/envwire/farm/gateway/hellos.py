"""Parses what a server says of itself. Each field has a bound, and what is kept of all servers, too. No I/O.

A token of scope join is not a reason to trust its holder with the gateway's memory, or with an operator's terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.group_config import GROUP_LABEL
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.access import PeerIdentity
from envwire.server._ipc.refusals import malformed
from envwire.wire.addresses import parse_address

#: The folder of the proto file that describes the messages.
PROTOS = "envwire/farm/v1"
#: Size of a message of a registration, in bytes. The ids of all of Gymnasium take 20 kB, a page of 1,000 sessions 300.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
#: Size of a load, of which each server's last one is kept. With 1,000 clients it takes about 100 kB.
MAX_LOAD_BYTES = 512 * 1024
#: Size of the hellos of all servers that a gateway knows, in bytes; and their number.
MAX_KEPT_BYTES, MAX_SERVERS = 256 * 1024 * 1024, 10_000
#: Slots, sessions, and processors of a server: sums over all servers fit into the 32 bits that they have in messages.
MAX_SLOTS = 100_000
#: Characters of an id, a name, a version or a label.
MAX_CHARACTERS = 255
#: Number of environments, and of labels, libraries and capabilities each.
MAX_ENVIRONMENTS, MAX_LISTED = 10_000, 1000


def parse_report(message: bytes) -> pb.RegisterRequest:
    """Parses a message of a registration.

    Raises:
        FaultError: MESSAGE_TOO_LARGE, or MALFORMED_REQUEST.
    """
    if len(message) > MAX_MESSAGE_BYTES:
        raise FaultError(
            Reason.MESSAGE_TOO_LARGE,
            f"a message of {len(message)} bytes from a server, and a gateway takes at most {MAX_MESSAGE_BYTES}; list "
            "fewer environments",
        )
    try:
        return pb.RegisterRequest.FromString(message)
    except DecodeError as error:
        raise malformed(f"no report: {error}", PROTOS) from None


def parse_load(report: pb.RegisterRequest) -> pb.ServerLoad:
    """Returns the load of a report.

    Raises:
        FaultError: MESSAGE_TOO_LARGE. MALFORMED_REQUEST: a number is beyond its bound.
    """
    load = report.load
    if max(load.active_sessions, load.reserved_slots) > MAX_SLOTS:
        raise malformed(f"a load of more than {MAX_SLOTS} slots", PROTOS)
    if (size := load.ByteSize()) > MAX_LOAD_BYTES:
        raise FaultError(
            Reason.MESSAGE_TOO_LARGE,
            f"a load of {size} bytes from a server, and a gateway takes at most {MAX_LOAD_BYTES}; give the server "
            "fewer slots",
        )
    return load


def parse_hello(message: bytes) -> pb.ServerHello:
    """Parses the first message of a registration, and names the group of what the server has.

    Raises:
        FaultError: MESSAGE_TOO_LARGE. MALFORMED_REQUEST: it is not a hello, or a field is missing or beyond its bound.
    """
    hello = parse_report(message).hello
    if not (hello.server_id and hello.address and hello.info.incarnation):
        raise malformed("a hello needs server_id, address and info.incarnation", PROTOS)
    if not hello.info.max_sessions:
        raise malformed("a server without slots; info.max_sessions must be 1 or more", PROTOS)
    for problem in _problems(hello):
        raise malformed(f"a hello {problem}", PROTOS)
    _name_group(hello, hello.labels.get(GROUP_LABEL, ""))
    return hello


def _name_group(hello: pb.ServerHello, group: str) -> None:
    """Tells clients of which group a server's environments and libraries are."""
    for library in hello.info.libraries:
        library.group = group
    for listing in hello.environments:
        listing.group = group


def _problems(hello: pb.ServerHello) -> Iterator[str]:
    """Yields what is wrong with a hello; numbers before texts, so that no long list is walked through."""
    info = hello.info
    counted = {
        "environments": (len(hello.environments), MAX_ENVIRONMENTS),
        "labels": (len(hello.labels), MAX_LISTED),
        "libraries": (len(info.libraries), MAX_LISTED),
        "capabilities": (len(info.capabilities), MAX_LISTED),
    }
    if max(info.max_sessions, info.cpu_count) > MAX_SLOTS:
        yield f"has more than {MAX_SLOTS} slots or processors"
    for name, (count, most) in counted.items():
        if count > most:
            yield f"has {count} {name}, and {most} are accepted"
    for name, text in _texts(hello):
        if len(text) > MAX_CHARACTERS:
            yield f"has {len(text)} characters in its {name}, and {MAX_CHARACTERS} are accepted"
        if not text.isprintable():
            yield f"has characters in its {name} that cannot be printed"


def _texts(hello: pb.ServerHello) -> Iterator[tuple[str, str]]:
    """Yields all texts that a gateway lists or compares, by the names of their fields."""
    info = hello.info
    yield "server_id", hello.server_id
    yield "address", hello.address
    yield "fingerprint", hello.fingerprint
    yield "incarnation", info.incarnation
    yield "version", info.version
    for label in hello.labels.items():
        yield from (("label", text) for text in label)
    for capability in info.capabilities:
        yield "capability", capability
    for library in info.libraries:
        yield from (("library", text) for text in (library.name, library.version, library.group))
    for each in hello.environments:
        yield from (("listed id", text) for text in (each.library, each.spec.id, each.group))


def address_of(hello: pb.ServerHello, peer: PeerIdentity) -> str:
    """Returns a server's address; ":PORT" means the host that it registers from.

    Raises:
        FaultError: MALFORMED_REQUEST: the gateway would dial something else than HOST:PORT.
    """
    address = hello.address
    if address.startswith(":"):
        host = peer.address or "localhost"
        address = (f"[{host}]" if ":" in host else host) + address
    if parse_address(address) is None:
        raise malformed(
            f"a server at {address!r}, which is not HOST:PORT of a name or an IP address; give --advertise HOST:PORT",
            PROTOS,
        )
    return address


def check_room(hello: pb.ServerHello, members: Iterable[Member]) -> None:
    """Refuses a server beyond what a gateway keeps; one that registers again takes its own place.

    Raises:
        FaultError: CAPACITY_REACHED.
    """
    sizes = [each.size for each in members if each.hello.server_id != hello.server_id]
    if len(sizes) >= MAX_SERVERS or sum(sizes) + hello.ByteSize() > MAX_KEPT_BYTES:
        raise FaultError(
            Reason.CAPACITY_REACHED,
            f"this gateway knows {len(sizes)} servers, whose descriptions take {sum(sizes)} bytes; it keeps "
            f"{MAX_SERVERS} in {MAX_KEPT_BYTES} bytes. List fewer environments, or start a second gateway",
        )
