"""docker/farm-tls.yaml: each service gets its own secrets and no others, since environments may read what it can."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import read_tokens

yaml: Any = pytest.importorskip("yaml")

_DOCKER = Path(__file__).parents[2] / "docker"
_MOUNTED = "/etc/envwire"
_SERVERS = {"server-a", "server-b", "server-c", "server-d"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((_DOCKER / "farm-tls.yaml").read_text())["services"]
    return services


@pytest.fixture(scope="module")
def made(services: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of `secrets` after it has run, as this user."""
    directory, bin_ = tmp_path_factory.mktemp("secrets"), tmp_path_factory.mktemp("bin")
    (bin_ / "envwire").write_text(f'#!/bin/sh\nexec {sys.executable} -m envwire "$@"\n')
    (bin_ / "chown").write_text("#!/bin/sh\n")  # only root may
    for command in bin_.iterdir():
        command.chmod(0o755)
    servers = services["secrets"]["entrypoint"][3:]
    work = tmp_path_factory.mktemp("work")
    subprocess.run(
        ["bash", _DOCKER / "make_secrets.sh", directory, *servers],
        env=os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}", "TMPDIR": str(work)},
        check=True,
        timeout=100,
    )
    assert not list(work.iterdir())
    return directory


def test_services_mount_their_own_volume_only(services: dict[str, Any]) -> None:
    mounts = {name: services[name]["volumes"] for name in services if name != "secrets"}
    assert mounts == {name: [f"{name}:{_MOUNTED}:ro"] for name in _SERVERS | {"gateway", "proxy"}}


@pytest.mark.parametrize("file", ["farm-tls.yaml", "farm.yaml", "compose.yaml"])
def test_files_in_tmp_do_not_fill_the_memory_of_a_container(file: str) -> None:
    """They count for no process, so that the kernel would end the server for them."""
    services: dict[str, Any] = yaml.safe_load((_DOCKER / file).read_text())["services"]
    limited = [each for each in services.values() if "mem_limit" in each and "tmpfs" in each]
    assert limited
    for service in limited:
        [tmp] = service["tmpfs"]
        path, _, size = tmp.partition(":size=")
        assert path == "/tmp"
        assert 2 * mebibytes(size) <= mebibytes(service["mem_limit"])


def mebibytes(size: str) -> int:
    return int(size[:-1]) * {"m": 1, "g": 1024}[size[-1]]


def test_nobody_else_meets_the_ca(services: dict[str, Any]) -> None:
    maker = services["secrets"]
    volumes = Counter(mount.partition(":")[0] for mount in maker["volumes"])
    assert volumes == Counter(
        [*services.keys() - {"secrets"}, "agent", "operator", "./make_secrets.sh"]
    )
    assert maker["tmpfs"] == ["/tmp"]
    assert maker["network_mode"] == "none"
    assert "restart" not in maker


def test_services_get_the_files_that_they_name(services: dict[str, Any], made: Path) -> None:
    for name, service in services.items():
        if name != "secrets":
            named = {
                Path(value).name
                for value in service["environment"].values()
                if str(value).startswith(_MOUNTED)
            }
            assert {path.name for path in (made / name).iterdir()} == named | {"ca.pem"}, name
    for person in ("agent", "operator"):
        assert {path.name for path in (made / person).iterdir()} == {"ca.pem", "token"}


def test_no_secret_is_given_twice(made: Path) -> None:
    secrets = [
        path.read_bytes()
        for path in made.rglob("*")
        if path.is_file() and path.name not in {"ca.pem", "tokens"}
    ]
    assert len(secrets) == len(set(secrets)) == 3 * len(_SERVERS) + 3 + 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in made.rglob("*"))


def test_the_ca_can_issue_nothing_more(made: Path) -> None:
    assert not list(made.rglob("ca-key*"))
    assert not list(made.rglob("client*"))


def test_tokens_are_for_one_user_or_server_each(made: Path) -> None:
    known = {each.name: each for each in read_tokens((made / "gateway/tokens").read_text())}
    assert known.keys() == _SERVERS | {"agent", "operator"}
    assert [name for name in known if Scope.ADMIN in known[name].scopes] == ["operator"]
    for name in _SERVERS:
        assert known[name].servers.refusal(name + ":50051", name + ":50051") == ""
        assert known[name].servers.refusal("server:50051", "server:50051")
        accepted = read_tokens((made / name / "tokens").read_text())
        assert [each.name for each in accepted] == ["agent"]
