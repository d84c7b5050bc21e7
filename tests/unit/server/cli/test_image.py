"""`envwire image` writes a Dockerfile; docker/image-test.sh builds and runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from envwire.server.cli._app import app
from envwire.server.cli._image import dockerfile, known_modules


def test_the_packages_land_in_the_servers_environment_and_the_ids_are_served() -> None:
    text = dockerfile(["minigrid>=3", "x"], ["MiniGrid-*", "A"], ["mine"], [], "envwire-server")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [
        "FROM envwire-server",
        "USER 0",
        "ARG PIP_INDEX_URL",
        "RUN /opt/envwire/bin/python -m pip install --no-cache-dir 'minigrid>=3' x",
        "USER 10001:10001",
        'CMD ["serve", "MiniGrid-*", "A", "--import", "mine", "--host", "0.0.0.0", "--insecure", "--direct-port", '
        '"50052", "--drain-timeout", "4"]',
    ]


def test_what_a_shell_would_read_is_quoted() -> None:
    text = dockerfile(["a; rm -rf /"], ['x"y'], [], ["b && c"], "base")
    assert "pip install --no-cache-dir 'a; rm -rf /'\n" in text
    assert "--no-install-recommends 'b && c' \\\n" in text
    assert '["serve", "x\\"y", ' in text


def test_the_modules_of_well_known_packages_are_known() -> None:
    assert known_modules(["minigrid>=3", "ale_py[x]"]) == ["ale_py", "minigrid"]
    assert known_modules(["nonsense"]) == []


def test_it_serves_as_the_image_that_it_builds_on() -> None:
    base = (Path(__file__).parents[4] / "docker" / "server.Dockerfile").read_text(encoding="utf-8")
    (command,) = (line for line in base.splitlines() if line.startswith('CMD ["serve"'))
    assert command in dockerfile(["x"], ["CartPole-v1"], [], [], "envwire-server")


@pytest.mark.parametrize("name", ["two\nlines", "\\"])
def test_a_name_of_several_lines_is_refused(name: str, tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["image", name, "-o", str(tmp_path / "Dockerfile")])
    assert answer.exit_code == 2
    assert not (tmp_path / "Dockerfile").exists()


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    assert CliRunner().invoke(app, ["image", "x", "-o", str(file)]).exit_code == 0
    written = file.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["image", "y", "-o", str(file)]).exit_code == 1
    assert file.read_text(encoding="utf-8") == written


def test_a_built_image_is_told_with_both_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\n")  # builds anything
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = CliRunner().invoke(app, ["image", "minigrid", "--ids", "MiniGrid-*", "--build", "mine"])
    assert told.stdout == (
        "built mine; run it with: docker run -p 127.0.0.1:50051:50051 -p 127.0.0.1:50052:50052 mine\n"
    ), told.output


def test_a_file_is_copied_into_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wheels").mkdir()
    Path("wheels/lab-1.0-py3-none-any.whl").touch()
    text = dockerfile(["wheels/lab-1.0-py3-none-any.whl", "minigrid"], ["*"], [], [], "base")
    assert 'COPY ["wheels/lab-1.0-py3-none-any.whl", "/packages/"]' in text
    assert "pip install --no-cache-dir /packages/lab-1.0-py3-none-any.whl minigrid\n" in text
    Path("minigrid").touch()
    assert dockerfile(["minigrid"], ["*"], [], [], "base").count("COPY") == 0, "a name is no file"


def test_a_file_that_docker_would_not_find_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab.whl").touch()
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    result = CliRunner().invoke(app, ["image", "../lab.whl"])
    assert result.exit_code == 1
    assert "../lab.whl is outside this folder" in result.output
