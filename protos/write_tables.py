"""Writes tables into files of other languages: package names into .proto files, error reasons into code and docs."""

import json
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ROOT = _HERE.parent
_SOURCE = "protos/envwire/codec/errors/reasons.py"
_MADE = f"Written by `make protos` from {_SOURCE}."


def _markdown(reasons: list[Any]) -> str:
    rows = ["| reason | status | session | meaning |\n|---|---|---|---|\n"]
    for each in reasons:
        session = "is over" if each.ends_session else ""
        rows.append(f"| {each.name} | {each.code.name} | {session} | {each.meaning} |\n")
    return "".join(rows)


def _typescript(reasons: list[Any]) -> str:
    rows = "".join(
        f"  {each.name}: {{ code: {int(each.code)}, endsSession: {str(each.ends_session).lower()} }},\n"
        for each in reasons
    )
    return (
        f"/** The reasons of errors. {_MADE} */\n\nexport const REASONS = {{\n{rows}}} as const;\n"
    )


def _cpp(reasons: list[Any]) -> str:
    rows = "".join(
        f'    {{"{each.name}", {int(each.code)}, {str(each.ends_session).lower()}}},\n'
        for each in reasons
    )
    return f"""// The reasons of errors. {_MADE}
#pragma once

#include <array>
#include <string_view>

namespace envwire::internal {{

struct Reason {{
  std::string_view name;
  int code;  // of gRPC
  bool ends_session;
}};

// clang-format off
inline constexpr std::array<Reason, {len(reasons)}> kReasons{{{{
{rows}}}}};
// clang-format on

}}  // namespace envwire::internal
"""


def write_reasons() -> None:
    """Writes the table of error reasons into docs/protocol.md and the code of the other languages."""
    reasons = list(runpy.run_path(str(ROOT / _SOURCE))["Reason"])
    page = ROOT / "docs/protocol.md"
    text = page.read_text(encoding="utf-8")
    table = re.compile(r"\| reason \| status \|.*\n(\|.*\n)+")
    page.write_text(table.sub(lambda _: _markdown(reasons), text, count=1), encoding="utf-8")
    typescript, cpp = ROOT / "client/typescript/src/reasons.ts", ROOT / "client/cpp/src/reasons.h"
    typescript.write_text(_typescript(reasons), encoding="utf-8")
    cpp.write_text(_cpp(reasons), encoding="utf-8")


def options(names: Mapping[str, str | bool]) -> str:
    """Returns the block of option lines."""
    lines = [f"option {name} = {json.dumps(value)};\n" for name, value in names.items()]
    return "\n" + "".join(lines)


def write_names() -> None:
    """Writes the options of names.json into the .proto files, behind package and imports, as buf orders them."""
    folders = json.loads((_HERE / "names.json").read_text(encoding="utf-8"))
    for folder, names in folders.items():
        for path in sorted((_HERE / folder).glob("*.proto") if folder else ()):
            bare = re.sub(r"\n(option \w+ = [^\n]+;\n)+", "", path.read_text(encoding="utf-8"))
            end = [each.end() for each in re.finditer(r"^(package|import) [^\n]+;\n", bare, re.M)]
            text = bare[: end[-1]] + options(names) + bare[end[-1] :]
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_names()
    write_reasons()
