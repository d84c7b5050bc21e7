"""`make support` checks each library that is built here, and writes docs/support.md.

The figures are stored in support.json, so that a single library can be measured again: append its name to `python -m
tests.conformance.support`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import envwire.conformance.checks  # noqa: F401 - importing them is what lists them
from envwire.conformance.client import SCENARIOS
from envwire.conformance.client.scenario_runner import ClientRunner
from envwire.conformance.raw import Access
from envwire.conformance.suite import Selection
from envwire.conformance.suite.checks import CHECKS
from envwire.conformance.suite.runner import Outcome, Result, Runner
from envwire.conformance.suite.selection import PROFILES
from envwire.server import Server
from tests.conformance.conftest import CHECKED, SERVED
from tests.languages.programs import kit, program

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "support.json", HERE.parents[1] / "docs" / "support.md"
TRANSPORTS = ("unary", "stream", "direct")
#: Profiles that need a configuration of their own.
CONFIGURED = ("auth", "tls", "operator", "drain")
#: Passed and made, by profile or transport.
Row = dict[str, list[int]]

_TOP = """\
# Support

What each library does, as the [conformance suites](conformance.md) found it: how many checks passed, of those that
there are. A check that is skipped has not passed: it asks for a wrapper, say, where a server has none. "-" stands for a
profile that a server does not offer. `make support` writes this page.
"""


@contextmanager
def _python() -> Iterator[str]:
    with Server(SERVED, **CHECKED) as server:
        yield server.target


@contextmanager
def _kit(language: str) -> Iterator[str]:
    with kit(language) as served:
        yield served.target


#: Servers: what starts each, and yields its address.
SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "Python's server": _python,
    "TypeScript's kit": lambda: _kit("typescript"),
    "C++'s kit": lambda: _kit("cpp"),
}
_PYTHON_DRIVER = [sys.executable, "-W", "ignore", "-m", "tests.conformance.drivers.python_driver"]
#: Clients: what returns the command line of each driver.
CLIENTS: dict[str, Callable[[], list[str]]] = {
    "Python": lambda: _PYTHON_DRIVER,
    "TypeScript": lambda: program("typescript", "conformance"),
    "C++": lambda: program("cpp", "conformance"),
}


def totals(kind: str) -> Counter[str]:
    """Returns how many checks of "servers", or scenarios of "clients", there are today, by profile or transport."""
    return Counter(one.profile for one in {"servers": CHECKS, "clients": SCENARIOS}[kind])


def counted(results: Iterable[Result]) -> Row:
    """Counts the passed checks of each profile; profiles that are not offered are left out."""
    passed, made = Counter[str](), Counter[str]()
    for result in results:
        made[result.check.profile] += 1
        passed[result.check.profile] += result.outcome is Outcome.PASSED
    return {name: [passed[name], made[name]] for name in made if passed[name]}


def server_row(name: str) -> Row:
    """Checks a server."""
    with SERVERS[name]() as target:
        return counted(Runner(Access(target), Selection(), seconds=20.0).results())


def client_row(name: str) -> Row:
    """Plays all scenarios with a client."""
    return counted(ClientRunner(CLIENTS[name](), SCENARIOS).results())


def page(figures: dict[str, dict[str, Row]]) -> str:
    """Returns docs/support.md."""
    profiles = [name for name in PROFILES if name not in CONFIGURED]
    return "\n".join(
        [
            _TOP,
            "## Servers",
            "",
            *_table("profile", profiles, figures["servers"]),
            "",
            "`auth` and `tls` ask for a server with tokens and certificates; Python's is checked so by "
            "`make test-conformance`.",
            "",
            "## Clients",
            "",
            *_table("transport", TRANSPORTS, figures["clients"]),
            "",
            "Python's client reads compressed attachments. Those in TypeScript and C++ do not ask for them, and so "
            "get arrays as they are.",
            "",
        ]
    )


def _table(head: str, lines: Iterable[str], rows: dict[str, Row]) -> Iterator[str]:
    yield f"| {head} | {' | '.join(rows)} |"
    yield f"|---{'|---' * len(rows)}|"
    for line in lines:
        cells = [
            f"{row[line][0]} of {row[line][1]}" if line in row else "-" for row in rows.values()
        ]
        yield f"| {line} | {' | '.join(cells)} |"


def load() -> dict[str, dict[str, Row]]:
    """Returns the figures that were found last."""
    loaded: dict[str, dict[str, Row]] = json.loads(FIGURES.read_text("utf-8"))
    return loaded


def main(names: list[str]) -> None:
    """Measures the servers and clients that are named, or all, and writes the page."""
    figures = load() if FIGURES.exists() else {"servers": {}, "clients": {}}
    for kind, rows, row in (
        ("servers", SERVERS, server_row),
        ("clients", CLIENTS, client_row),
    ):
        for name in [one for one in rows if one in names or not names]:
            figures[kind][name] = row(name)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
