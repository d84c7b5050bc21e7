"""Writes the options of names.json into the .proto files, in place of those that are there."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def options(names: Mapping[str, str | bool]) -> str:
    """Returns the block of option lines."""
    lines = [f"option {name} = {json.dumps(value)};\n" for name, value in names.items()]
    return "\n" + "".join(lines)


def main() -> None:
    """Rewrites all files: the options stand behind package and imports, as buf orders them."""
    folders = json.loads((HERE / "names.json").read_text(encoding="utf-8"))
    for folder, names in folders.items():
        for path in sorted((HERE / folder).glob("*.proto") if folder else ()):
            bare = re.sub(r"\n(option \w+ = [^\n]+;\n)+", "", path.read_text(encoding="utf-8"))
            end = [each.end() for each in re.finditer(r"^(package|import) [^\n]+;\n", bare, re.M)]
            text = bare[: end[-1]] + options(names) + bare[end[-1] :]
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
