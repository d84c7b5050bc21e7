"""Writes the options of names.json into the .proto files, in place of those that are there."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent


def options() -> str:
    """Returns the block of option lines."""
    names = json.loads((HERE / "names.json").read_text(encoding="utf-8"))
    lines = [f"option {name} = {json.dumps(value)};\n" for name, value in names.items() if name]
    return "\n" + "".join(lines)


def main() -> None:
    """Rewrites all files: the options stand behind package and imports, as buf orders them."""
    for path in sorted((HERE / "envwire" / "v1").glob("*.proto")):
        bare = re.sub(r"\n(option \w+ = [^\n]+;\n)+", "", path.read_text(encoding="utf-8"))
        end = [match.end() for match in re.finditer(r"^(package|import) [^\n]+;\n", bare, re.M)][-1]
        path.write_text(bare[:end] + options() + bare[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
