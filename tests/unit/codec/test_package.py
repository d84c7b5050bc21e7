"""The package exports its public names, and its families are those of the two libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import envwire.codec
import envwire.envs
from envwire.codec import (
    Family,
    decode_warnings,
    encode_warnings,
    envwire_family,
    gymnasium_family,
)
from envwire.codec import family as family_module
from envwire.codec.spaces import kinds as space_kinds
from envwire.codec.values import encoding as values
from envwire.codec.values import tensors
from envwire.v1 import environment_pb2, spaces_pb2, values_pb2

NAMES = """
    CodecError Family FaultError Opaque Reason RemoteExceptionInfo
    decode_env_spec decode_fault decode_mapping decode_random_state decode_space decode_value
    decode_values decode_warnings encode_env_spec encode_fault encode_mapping encode_random_state
    encode_space encode_value encode_values encode_warnings envwire_family exception_from_fault
    fault_from_exception gymnasium_family restore_random_state
"""


def test_public_names() -> None:
    assert sorted(envwire.codec.__all__) == sorted(NAMES.split())
    for name in envwire.codec.__all__:
        assert getattr(envwire.codec, name).__doc__


def test_imports_form_no_ring() -> None:
    root = Path(envwire.codec.__file__).parents[1]
    imports: dict[str, set[str]] = {}
    for path in (root / "codec").rglob("*.py"):
        body = ast.parse(path.read_text()).body
        found = [node for node in body if isinstance(node, ast.ImportFrom)]
        modules = {str(node.module) for node in found}
        modules |= {f"{node.module}.{alias.name}" for node in found for alias in node.names}
        name = ".".join(("envwire", *path.relative_to(root).with_suffix("").parts))
        imports[name.removesuffix(".__init__")] = modules
    while leaves := [name for name, needed in imports.items() if not needed & imports.keys()]:
        for name in leaves:
            del imports[name]
    assert not imports


def test_every_kind_of_the_contract_has_a_row() -> None:
    kinds = values_pb2.Value.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert {field.name for field in kinds} == set(values._DECODERS)
    kinds = spaces_pb2.Space.DESCRIPTOR.oneofs_by_name["kind"].fields
    rows = [row.field for row in space_kinds.ROWS]
    assert [field.name for field in kinds] == [*rows, "same_as"]
    numbers = {*tensors._DTYPES, values_pb2.DATA_TYPE_UNSPECIFIED, values_pb2.DATA_TYPE_NUMPY}
    assert numbers == set(values_pb2.DataType.values())


@pytest.mark.parametrize(
    ("family", "root"), [(envwire_family(), envwire.envs), (gymnasium_family(), gymnasium)]
)
def test_families(family: Family, root: object) -> None:
    for name in ("Wrapper", "spaces", "error"):
        assert getattr(family, name) is getattr(root, name)
    assert family.GraphInstance is family.spaces.GraphInstance
    assert family.EnvSpec is type(root.spec("CartPole-v1"))
    assert family.AutoresetMode is root.vector.AutoresetMode
    assert family_module._collect(family.name) == family


def test_families_are_collected_once() -> None:
    assert envwire_family() is envwire_family()
    assert gymnasium_family() is gymnasium_family()


def test_nothing_needs_gymnasium_until_it_is_asked_for() -> None:
    program = """
import sys
sys.modules["gymnasium"] = None
from envwire.codec import envwire_family, gymnasium_family
assert envwire_family().name == "envwire"
try:
    gymnasium_family()
except ImportError as error:
    assert "pip install 'envwire[gymnasium]'" in str(error), error
else:
    raise AssertionError
assert not [name for name in sys.modules if name.startswith("gymnasium.") or name == "grpc"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class OwnWarning(RuntimeWarning):
    """Unknown on the other side."""


def test_warnings() -> None:
    response = environment_pb2.StepResponse()
    given = [
        (UserWarning, "a\nb"),
        (DeprecationWarning, ""),
        (OwnWarning, "\ud800"),
        (Warning, "ü"),
    ]
    response.warnings.extend(encode_warnings(given))
    parsed = environment_pb2.StepResponse.FromString(response.SerializeToString())
    assert decode_warnings(parsed.warnings) == [
        (UserWarning, "a\nb"),
        (DeprecationWarning, ""),
        (RuntimeWarning, "\\ud800"),
        (Warning, "ü"),
    ]


def test_unknown_warnings_become_user_warnings() -> None:
    response = environment_pb2.StepResponse()
    for category in ("OwnWarning", "ValueError", "print", ""):
        response.warnings.add(category=category, text="t")
    assert decode_warnings(response.warnings) == [(UserWarning, "t")] * 4
