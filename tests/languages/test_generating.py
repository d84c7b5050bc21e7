"""The commands of docs/languages.md generate code that compiles, in a folder beside a checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (Path(ROOT) / "docs/languages.md").read_text("utf-8")
#: The commands by language.
COMMANDS = dict(re.findall(r"^\*\*(\w+)\*\*.*?^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
#: What each language needs.
TOOLS = {"Go": ("go", "protoc"), "Java": ("mvn",), "Rust": ("cargo",)}


def test_a_language_takes_three_commands_at_most() -> None:
    assert {language: len(each.splitlines()) <= 3 for language, each in COMMANDS.items()} == (
        dict.fromkeys(TOOLS, True)
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("language", TOOLS)
def test_the_generated_code_compiles(language: str, tmp_path: Path) -> None:
    for tool in TOOLS[language]:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    (tmp_path / "envwire").symlink_to(ROOT)
    (project := tmp_path / "agent").mkdir()
    commands = COMMANDS[language]
    if language == "Go":  # which leaves out what no program imports
        own = (Path(ROOT) / "examples/go/main.go").read_text("utf-8")
        own = own.replace("envwire.example/envwire/v1", "agent/envwire/v1")
        (project / "main.go").write_text(own, "utf-8")
        commands += "go build ./...\n"
    done = subprocess.run(
        ["bash", "-e"], cwd=project, input=commands, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
