"""The sdist and the wheel contain the expected files, and work without a checkout."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package.conftest import Artefacts, install, pip

pytestmark = pytest.mark.timeout(1800)

#: What a client needs: three requirements, and what grpcio asks for itself.
_CLIENT = {"envwire", "numpy", "grpcio", "protobuf", "typing_extensions"}

#: For a program that computes for a second where nothing runs beside it.
_SECONDS = 120

_ROLLOUT = """
import json, sys
from {module} import RemoteEnv

env = RemoteEnv(sys.argv[1], "CartPole-v1")
rewards, observation = [], env.reset(seed=42)[0]
for _ in range(10):
    observation, reward, *_ = env.step(1)
    rewards.append(reward)
env.close()
print(json.dumps([observation.tolist(), rewards]))
"""


def _members(artefacts: Artefacts) -> tuple[set[str], set[str]]:
    with tarfile.open(artefacts.sdist) as archive:
        sdist = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(artefacts.wheel) as archive:
        return sdist, set(archive.namelist())


def test_both_hold_the_licence_the_notice_and_the_contract(artefacts: Artefacts) -> None:
    sdist, wheel = _members(artefacts)
    assert {"LICENSE", "NOTICE", "protos/envwire/v1/environment.proto"} <= sdist
    (licences,) = {name.rpartition("/")[0] for name in wheel if name.endswith("/NOTICE")}
    assert {f"{licences}/LICENSE", "envwire/v1/environment.proto"} <= wheel
    typed = {name for name in wheel if name.endswith("/py.typed")}
    assert {f"envwire/{part}/py.typed" for part in ("client", "server", "envs", "codec")} <= typed


def test_the_wheel_holds_the_packages_and_nothing_else(artefacts: Artefacts) -> None:
    wheel = _members(artefacts)[1]
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"envwire"}
    assert not any("__pycache__" in name for name in wheel)


def test_the_wheel_of_the_core_has_nothing_that_stands_beside_it(artefacts: Artefacts) -> None:
    wheel = _members(artefacts)[1]
    beside = (
        "farm/gateway/",
        "farm/engines/",
        "farm/cli/",
        "conformance/",
        "dashboard/",
        "openenv/",
    )
    assert [
        name for name in wheel if name.startswith(tuple(f"envwire/{one}" for one in beside))
    ] == []
    assert "envwire/farm/v1/farm.proto" in wheel
    with zipfile.ZipFile(artefacts.farm) as archive:
        packages = {name.rpartition("/")[0] for name in archive.namelist()}
    assert {"envwire/farm/gateway", "envwire/farm/engines", "envwire/farm/cli"} <= packages
    assert not any(name.startswith(("envwire/server", "envwire/farm/v1")) for name in packages)


def test_the_description_links_to_the_projects_addresses(artefacts: Artefacts) -> None:
    with zipfile.ZipFile(artefacts.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata, _, description = archive.read(name).decode().partition("\n\n")
    urls = dict(re.findall(r"^Project-URL: (\w+), (\S+)$", metadata, re.MULTILINE))
    assert {"Documentation", "Source", "Changelog", "Issues"} <= urls.keys()
    assert description.startswith("# envwire")
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert f"{urls['Source']}/docs/limits.md" in links


def test_a_client_brings_three_requirements(client: Path) -> None:
    listed = subprocess.run(
        [*pip(client), "list", "--format=json"],
        check=True,
        timeout=_SECONDS,
        capture_output=True,
    )
    names = {row["name"].lower().replace("-", "_") for row in json.loads(listed.stdout)}
    assert names == _CLIENT


@pytest.mark.parametrize("attribute", ["__version__", "client.__version__"])
def test_the_package_has_a_version(client: Path, attribute: str) -> None:
    program = f"import envwire.client; print(envwire.{attribute})"
    said = subprocess.run(
        [client / "python", "-I", "-c", program], check=True, timeout=_SECONDS, capture_output=True
    )
    assert re.fullmatch(rb"\d+\.\d+\.\d+\n", said.stdout)


def _command(program: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words], check=False, cwd=cwd, timeout=_SECONDS, capture_output=True, text=True
    )


def test_a_farm_is_an_extra(full: Path, artefacts: Artefacts, tmp_path: Path) -> None:
    without = _command(full / "envwire", "farm", "up", cwd=tmp_path)
    assert without.returncode == 2
    assert "pip install 'envwire[farm]'" in without.stderr
    # The wheel of the farm is in no index.
    install(full.parent, f"{artefacts.wheel}[server,farm]", str(artefacts.farm))
    assert " up " in _command(full / "envwire", "farm", "--help", cwd=tmp_path).stdout
    without = _command(full / "envwire", "conformance", "localhost:1", cwd=tmp_path)
    assert "pip install 'envwire[conformance]'" in without.stderr


@pytest.fixture(scope="module")
def target(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [full / "envwire", "serve", "CartPole-v1", "--port", "0", "--drain-timeout", "0"]
    outside = tmp_path_factory.mktemp("outside")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=outside)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready.startswith("ready: "), ready
        yield ready.removeprefix("ready: ").strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _rollout(python: Path, module: str, target: str, cwd: Path) -> object:
    program = _ROLLOUT.format(module=module)
    done = subprocess.run(
        [python, "-I", "-c", program, target],
        cwd=cwd,
        timeout=_SECONDS,
        check=True,
        capture_output=True,
    )
    return json.loads(done.stdout)


def test_a_client_alone_steps_what_an_installed_server_hosts(
    client: Path, full: Path, target: str, tmp_path: Path
) -> None:
    alone = _rollout(client / "python", "envwire.client", target, tmp_path)
    assert alone == _rollout(full / "python", "envwire.client.gymnasium", target, tmp_path)


def test_a_client_without_the_command_line_says_what_to_install(
    client: Path, tmp_path: Path
) -> None:
    done = _command(client / "envwire", "--help", cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'envwire[server]'" in done.stderr
