"""Generated code has one name in each language, kept in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from envwire.admin.v1 import admin_pb2
from envwire.farm.v1 import farm_pb2
from envwire.observe.v1 import observe_pb2
from envwire.v1 import (
    direct_pb2,
    environment_pb2,
    recording_pb2,
    spaces_pb2,
    specs_pb2,
    status_pb2,
    values_pb2,
)

PROTOS = Path(__file__).parents[3] / "protos"
NAMES: dict[str, Any] = json.loads((PROTOS / "names.json").read_text(encoding="utf-8"))
NAMES.pop("")
MODULES = (
    admin_pb2,
    direct_pb2,
    environment_pb2,
    farm_pb2,
    observe_pb2,
    recording_pb2,
    spaces_pb2,
    specs_pb2,
    status_pb2,
    values_pb2,
)


@pytest.mark.parametrize("folder", NAMES)
def test_every_language_that_needs_a_name_has_one(folder: str) -> None:
    assert {name.partition("_")[0] for name in NAMES[folder]} == {
        "csharp",
        "go",
        "java",
        "objc",
        "swift",
    }


def test_no_file_is_left_out() -> None:
    files = {str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto")}
    assert {module.DESCRIPTOR.name for module in MODULES} == files


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_file_has_the_names_of_the_table(module: Any) -> None:
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    names = NAMES[str(Path(file.name).parent)]
    assert {field.name: value for field, value in file.options.ListFields()} == names
