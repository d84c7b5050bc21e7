"""The source roots are one namespace, and stay so."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import envwire.client
import envwire.codec
import envwire.server

ROOT = Path(__file__).parent.parent.parent
ROOTS = ("protos", "envs", "client/python", "server", "farm", "conformance", "dashboard", "testing")


@pytest.mark.parametrize("root", ROOTS)
def test_no_root_claims_the_namespace(root: str) -> None:
    assert not (ROOT / root / "__init__.py").exists()
    assert not (ROOT / root / "envwire" / "__init__.py").exists()
    assert not (ROOT / root / "envwire" / "farm" / "__init__.py").exists()


@pytest.mark.parametrize(
    "package",
    [
        *(
            f"protos/envwire/{name}"
            for name in ("v1", "admin/v1", "farm/v1", "observe/v1", "wire", "codec")
        ),
        "farm/envwire/farm/gateway",
        "farm/envwire/farm/engines",
        *(f"{root}/envwire/{root.partition('/')[0]}" for root in ROOTS[1:] if root != "farm"),
    ],
)
def test_every_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("module", [envwire.client, envwire.server, envwire.codec])
def test_what_is_exported_is_there(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)
