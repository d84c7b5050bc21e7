"""Settings are described once; options, variables, files and checks follow from that."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from envwire.farm.gateway.config import GatewayConfig
from envwire.server import Server, ServerConfig
from envwire.server._settings.setting import gather, read_environment
from envwire.server.cli._app import app
from envwire.server.config import SETTINGS

#: Of each kind of setting: a value as each source writes it, and what becomes of it.
WRITTEN = {
    "max_sessions": ("7", "7", 7),
    "lease": ("2.5", "2.5", 2.5),
    "host": ("::1", '"::1"', "::1"),
    "tls_cert": ("c.pem", '"c.pem"', "c.pem"),
    "insecure": ("true", "true", True),
    "imports": ("one two", '["one", "two"]', ["one", "two"]),
}


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", WRITTEN)
def test_variables_and_files_say_the_same(name: str, tmp_path: Path) -> None:
    variable, toml, expected = WRITTEN[name]
    file = write(tmp_path / "server.toml", f"{name} = {toml}")
    assert gather(SETTINGS, {}, {}, file) == {name: expected}
    assert gather(SETTINGS, {}, {f"ENVWIRE_{name.upper()}": variable}) == {name: expected}


def test_kinds_are_all_written_above() -> None:
    assert {SETTINGS[name].kind for name in WRITTEN} == {one.kind for one in SETTINGS.values()}


def test_the_command_line_is_stronger_than_variables_and_they_than_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "server.toml", "port = 1\nlease = 1.0\nmax_sessions = 1")
    environment = {"ENVWIRE_LEASE": "2", "ENVWIRE_MAX_SESSIONS": "2", "ENVWIRE_CONFIG": file}
    expected = {"port": 1, "lease": 2.0, "max_sessions": 3}
    assert gather(SETTINGS, {"max_sessions": 3}, environment) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_session = 3", "unknown setting 'max_session'; did you mean max_sessions"),
        ("max-sessions = 3", "did you mean max_sessions"),
        ("[limits]\nlease = 3", "unknown setting 'limits'"),
        ("sys_path = ['x']", "unknown setting 'sys_path'"),
        ("lease = '3'", r"lease \(--lease\) is '3'; it must be a number"),
        ("lease = inf", "it must be a number"),
        ("max_sessions = true", "it must be a whole number"),
        ("imports = 'x'", r"imports \(--import\) is 'x'; it must be a list"),
        ("imports = [1]", "it must be a list"),
        ("port = 70000", "it must be a port"),
        ("insecure = 1", "it must be true or false"),
        ("lease =", "server.toml"),
        ("[groups.a]\nenvironments = ['A-v0']", "groups are kinds of servers, which `envwire farm"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_what(text: str, says: str, tmp_path: Path) -> None:
    file = write(tmp_path / "server.toml", text)
    with pytest.raises(ValueError, match=says) as refusal:
        gather(SETTINGS, {}, {}, file)
    assert str(refusal.value).startswith(file)


@pytest.mark.parametrize(
    ("variable", "text"),
    [("ENVWIRE_LEASE", "soon"), ("ENVWIRE_QUEUE", "-1"), ("ENVWIRE_INSECURE", "perhaps")],
)
def test_a_variable_that_is_wrong_is_named(variable: str, text: str) -> None:
    with pytest.raises(ValueError, match=rf"{variable}.*{text}.*must be"):
        read_environment(SETTINGS, {variable: text})


def test_groups_in_a_variable_or_a_program_are_refused_with_what_has_them_now() -> None:
    says = r"groups are kinds of servers, which `envwire farm up --config FILE` runs; see docs/on-demand"
    with pytest.raises(ValueError, match=says):
        read_environment(SETTINGS, {"ENVWIRE_GROUPS": '{"a": {"environments": ["A-v0"]}}'})
    groups: dict[str, Any] = {"groups": {"a": {"environments": ["A-v0"]}}}
    with pytest.raises(ValueError, match=says):
        Server(["B-v0"], **groups)


def test_processes_read_what_the_server_wrote() -> None:
    config = ServerConfig(("B-v0",), imports=("m",))
    assert ServerConfig.from_json(config.to_json()) == config


def test_variables_that_others_set_are_left_alone() -> None:
    others = {"ENVWIRE_PORT": "tcp://10.0.0.1:50051", "ENVWIRE_HOST": "", "ENVWIRE_TOKEN": "t"}
    assert read_environment(SETTINGS, others) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("lease", "60"), ("imports", "m"), ("port", 1.5)],
        *[("advertise", "farm:99999"), ("advertise", "farm:²"), ("join", ["farm:0"])],
    ],
)
def test_programs_are_told_as_well(name: str, value: object) -> None:
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=rf"{name} \({SETTINGS[name].option}\) .* must be"):
        ServerConfig(("A-v0",), **wrong)


def test_a_server_takes_the_settings_and_names_what_is_none() -> None:
    names = [*inspect.signature(Server).parameters]
    assert names == [*SETTINGS, "sys_path"]
    Server({"A-v0"}, imports={"m"}, tls_cert=Path("c"), tls_key=Path("k"))
    wrong: dict[str, Any] = {"max_session": 3}
    with pytest.raises(ValueError, match="did you mean max_sessions"):
        Server(["A-v0"], **wrong)
    with pytest.raises(ValueError, match="must be a list"):
        Server("A-v0")


@pytest.mark.parametrize("config", [ServerConfig, GatewayConfig])
def test_settings_can_be_read_by_python_3_10(config: type) -> None:
    """Its `get_type_hints` refuses what is no type, such as the marker `_: KW_ONLY`."""
    for base in config.__mro__:
        assert "_" not in vars(base).get("__annotations__", {})


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServerConfig]:
    """The settings that the command line would serve with."""
    configs: list[ServerConfig] = []
    monkeypatch.setattr("envwire.server.serving.run", lambda config, _: configs.append(config))
    return configs


def test_each_setting_is_an_option(served: list[ServerConfig], tmp_path: Path) -> None:
    file = write(tmp_path / "server.toml", "environments = ['A-v0']\nlease = 5\ninsecure = true")
    words = ["--lease", "6", "--allow-wrapper", "m:A", "--allow-wrapper", "m:B", "--no-insecure"]
    variables = {"ENVWIRE_QUEUE": "9", "ENVWIRE_LEASE": "7"}
    done = CliRunner().invoke(app, ["serve", "--config", file, *words], env=variables)
    assert done.exit_code == 0, done.output
    (config,) = served
    assert (config.environments, config.lease, config.queue) == (["A-v0"], 6.0, 9)
    assert (config.allow_wrappers, config.insecure) == (["m:A", "m:B"], False)


def test_nothing_to_serve_is_said(served: list[ServerConfig]) -> None:
    done = CliRunner().invoke(app, ["serve"], env={"ENVWIRE_ENVIRONMENTS": ""})
    assert (done.exit_code, served) == (2, [])
    assert "nothing to serve" in done.output


def test_help_teaches_in_groups() -> None:
    shown = CliRunner().invoke(app, ["serve", "--help-all"], terminal_width=200).output
    for setting in SETTINGS.values():
        assert setting.option in shown
        assert setting.about.theme in shown
    assert "--config" in shown
    assert "ENVWIRE_MAX_SESSIONS" in shown


def test_help_shows_first_what_most_people_set() -> None:
    every, first = (
        set(re.findall(r"--[a-z][a-z-]+", CliRunner().invoke(app, ["serve", option]).output))
        for option in ("--help-all", "--help")
    )
    assert first < every
    assert first - {"--no-dev", "--help", "--help-all", "--config", "--fast"} == {
        *("--import", "--dev", "--host", "--port", "--exec", "--max-sessions", "--record"),
        *("--tls-cert", "--tls-key", "--tokens", "--join", "--dashboard"),
    }


def test_a_host_may_have_the_brackets_of_a_target() -> None:
    config = ServerConfig(("a",), host="[::1]")
    assert (config.host, config.loopback) == ("::1", True)
    with pytest.raises(ValueError, match="refusing to bind ::"):
        ServerConfig(("a",), host="[::]")


def test_a_tunnel_takes_a_gateway_and_tls_on_the_way_there() -> None:
    with pytest.raises(ValueError, match="--join"):
        ServerConfig(("a",), tunnel=True)
    with pytest.raises(ValueError, match=r"farm\.example:1 without TLS"):
        ServerConfig(("a",), tunnel=True, join=("[::1]:1,farm.example:1",))
    for protected in ({"join_ca": "ca.pem"}, {"insecure": True}):
        ServerConfig(("a",), tunnel=True, join=("farm.example:1",), **protected)  # type: ignore[arg-type]


def test_others_cannot_read_what_a_server_sends_to_its_gateways() -> None:
    config = ServerConfig(("a",), join=("localhost:1", "farm.example:1"))
    assert config.readable_way(insecure=False) == "farm.example:1"
    assert not config.readable_way(insecure=True)
    assert not ServerConfig(("a",), join=config.join, join_ca="ca.pem").readable_way(insecure=False)


def test_a_public_server_on_loopback_takes_tokens_and_is_no_server_of_this_machine_only() -> None:
    with pytest.raises(ValueError, match=r"--public .* --tokens"):
        ServerConfig(("a",), public=True)
    assert not ServerConfig(("a",), public=True, insecure=True).loopback


def test_through_a_tunnel_others_than_this_machine_reach_a_server() -> None:
    assert ServerConfig(("a",), join=("localhost:1",)).loopback
    assert not ServerConfig(("a",), join=("localhost:1",), tunnel=True).loopback
