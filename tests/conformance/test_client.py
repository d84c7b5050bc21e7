"""envwire's own client plays every scenario, and a client with a defect is found."""

from __future__ import annotations

import shlex
import sys
from collections import Counter

import pytest
from typer.testing import CliRunner

from envwire.conformance.client import SCENARIOS, Scenario
from envwire.conformance.client.scenario_runner import ClientRunner
from envwire.conformance.suite.runner import Outcome
from envwire.server.cli._app import app

DRIVER = [sys.executable, "-W", "ignore", "-m", "tests.conformance.drivers.python_driver"]
#: Of each transport, what the default run plays: a cut, an error, an oddity.
FEW = (
    "cuts.a-step-whose-answer-was-lost-is-repeated",
    "errors.a-refused-step-is-reported/RESET_NEEDED",
    "oddities.unknown-fields-are-passed-over",
    "oddities.other-addresses-are-tried",
)


def outcomes(scenarios: list[Scenario], command: list[str] = DRIVER) -> dict[str, Outcome]:
    return {
        result.check.name: result.outcome for result in ClientRunner(command, scenarios).results()
    }


def few() -> list[Scenario]:
    return [one for one in SCENARIOS if one.name.startswith(FEW)]


def all_pass(scenarios: list[Scenario]) -> dict[str, Outcome]:
    return dict.fromkeys((one.name for one in scenarios), Outcome.PASSED)


def test_scenarios_have_names_of_their_own() -> None:
    counted = Counter(one.name for one in SCENARIOS)
    assert [name for name, count in counted.items() if count > 1] == []
    assert len({one.name.partition("[")[0] for one in SCENARIOS}) >= 60
    assert [one.name for one in SCENARIOS if not one.summary.endswith(".")] == []


def test_the_client_passes_a_few() -> None:
    assert outcomes(few()) == all_pass(few())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_client_passes_all() -> None:
    assert outcomes(SCENARIOS) == all_pass(SCENARIOS)


#: Drivers with one defect, as what is put in front of the driver's own code, and the scenario that finds it.
DEFECTS = {
    "takes each step twice": (
        "step = Driver.step\n"
        "Driver.step = lambda self, action: (step(self, action), step(self, action))[1]",
        "faithful.an-episode-is-driven[unary]",
    ),
    "makes another environment when one is gone": (
        "step, make = Driver.step, Driver.make\n"
        "def lenient(self, action):\n"
        "    try:\n"
        "        return step(self, action)\n"
        "    except RemoteError:\n"
        "        return {'observation': {'intValue': 0}}\n"
        "Driver.step = lenient",
        "leases.a-session-that-ended-is-reported/SESSION_LOST[unary]",
    ),
    "tells every error as another": (
        "module.reason = lambda failure: 'INTERNAL'",
        "errors.a-refused-make-is-reported/CAPACITY_REACHED[unary]",
    ),
    "sends tuples as lists": (
        "read = module.read\n"
        "module.read = lambda shown: list(read(shown)) if isinstance(read(shown), tuple) else read(shown)",
        "faithful.a-value-goes-there-and-back/tuple[unary]",
    ),
    "has another lease than it asked for": (
        "make = Driver.make\n"
        "Driver.make = lambda self, lease=None, **options: make(self, lease=1.0, **options)",
        "cuts.a-client-tries-for-as-long-as-its-lease[direct]",
    ),
    "waits for ever for a welcome": (
        "from envwire.client._transports.direct import dialing\n"
        "dialing._DIAL_SECONDS = dialing._ALL_SECONDS = 60.0",
        "cuts.a-hello-without-an-answer-is-said-again[direct]",
    ),
    "takes nothing but a direct channel": (
        "make = Driver.make\n"
        "Driver.make = lambda self, transport, **options: make(self, transport='direct-tcp', **options)",
        "oddities.without-an-address-there-is-grpc[direct]",
    ),
    "goes to any address that is advertised": (
        "from envwire.client._transports.grpc import grpc_connection, grpc_transports\n"
        "grpc_transports.followed = lambda connection, made: grpc_connection.GrpcConnection(\n"
        "    made.address, grpc_connection._FOLLOW, connection.credentials)",
        "oddities.the-address-that-answered-is-kept[unary]",
    ),
    "imports what it is told": (
        "import importlib\n"
        "from envwire.client._env import attributes\n"
        "decode = attributes.decode_env_spec\n"
        "def trusting(message, *others):\n"
        "    importlib.import_module(message.entry_point.partition(':')[0])\n"
        "    return decode(message, *others)\n"
        "attributes.decode_env_spec = trusting",
        "oddities.an-entry-point-is-not-imported[unary]",
    ),
    "trusts every name": (
        "import grpc\n"
        "secure = grpc.secure_channel\n"
        "name = ('grpc.ssl_target_name_override', 'localhost')\n"
        "grpc.secure_channel = lambda target, trusted, options=(), **more: secure(\n"
        "    target, trusted, [*options, name], **more)",
        "certificates.a-certificate-for-another-name-is-refused[unary]",
    ),
    "ends": ("raise SystemExit", "faithful.an-episode-is-driven[unary]"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("patch", "finds"), DEFECTS.values(), ids=DEFECTS)
def test_a_client_with_a_defect_is_found(patch: str, finds: str) -> None:
    program = (
        "from tests.conformance.drivers import python_driver as module\n"
        "from tests.conformance.drivers.python_driver import *\n"
        f"{patch}\nmodule.main()"
    )
    (scenario,) = (one for one in SCENARIOS if one.name == finds)
    found = outcomes([scenario], [sys.executable, "-W", "ignore", "-c", program])
    assert found == {finds: Outcome.FAILED}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["conformance", *arguments])
    return result.exit_code, result.output


def test_the_command_lists_scenarios_and_says_what_is_wrong() -> None:
    status, listed = run("--client", "true", "--list", "--transport", "direct")
    assert status == 0
    assert len(listed.splitlines()) == sum(one.transport == "direct" for one in SCENARIOS)
    assert run("localhost:50051", "--client", "true")[0] == 2
    assert run("--run", "cuts.late*", "--client", "no-such-program")[0] == 3


def test_the_command_plays_scenarios() -> None:
    status, output = run("--run", "faithful.a-seed-is-sent[unary]", "--client", shlex.join(DRIVER))
    assert (status, output.splitlines()[-1]) == (0, "envwire.v1 conforms: unary 1/1")
