"""The source roots are one namespace, and stay so."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import envwire.client
import envwire.codec
import envwire.server

ROOT = Path(__file__).parent.parent.parent
#: The roots of the core, and those of what stands beside it, distributions of their own.
CORE = ("protos", "envs", "client/python", "server", "testing")
BESIDE = ("farm", "conformance", "dashboard", "integrations/openenv")
ROOTS = CORE + BESIDE


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
        "farm/envwire/farm/cli",
        "client/python/envwire/client",
        *(
            f"{root}/envwire/{Path(root).name}"
            for root in ("envs", "server", "testing", *BESIDE[1:])
        ),
    ],
)
def test_every_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("module", [envwire.client, envwire.server, envwire.codec])
def test_what_is_exported_is_there(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)


def _declared(root: str) -> tuple[str, str]:
    """Returns the name and the version of a distribution."""
    text = (ROOT / root / "pyproject.toml").read_text(encoding="utf-8")
    name, version = (
        re.search(rf'^{key} = "(.*)"$', text, re.MULTILINE) for key in ("name", "version")
    )
    assert name is not None
    assert version is not None
    return name[1], version[1]


def test_programs_can_ask_for_the_version() -> None:
    assert envwire.client.__version__ == envwire.server.__version__
    assert envwire.client.__version__.count(".") == 2


@pytest.mark.parametrize("root", BESIDE)
def test_distributions_are_released_together(root: str) -> None:
    _, version = _declared("")
    name, own = _declared(root)
    assert own == version
    extra = f'{name.removeprefix("envwire-")} = ["{name}=={version}"]'
    assert extra in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dependency = f'dependencies = ["envwire[server]=={version}"'
    assert dependency in (ROOT / root / "pyproject.toml").read_text(encoding="utf-8")
