"""gRPC channels are opened in few places, all of which say that no proxy is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import envwire

ROOT = Path(__file__).parent.parent.parent
#: Functions that open channels, by their file.
OPENERS = {
    "grpc_connection.py": {"_opened", "_keep_grpc_running"},
    "health.py": {"_open_channel"},
    "joining.py": {"_channel"},
    "links.py": {"__init__"},
    "sidecar.py": {"_channel"},
    "access.py": {"channel"},
}
FACTORIES = {"insecure_channel", "secure_channel"}


def sources() -> Iterator[tuple[Path, str]]:
    """Yields the files of all packages in which a channel may be opened, with their text."""
    for root in envwire.__path__:
        for path in Path(root).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(factory in text for factory in FACTORIES):
                yield path, text


def openers(text: str) -> set[str]:
    """Returns the names of the functions in which a file opens channels."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        function.name
        for function in ast.walk(ast.parse(text))
        if isinstance(function, functions)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in FACTORIES
    }


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    return {path.name: names for path, text in sources() if (names := openers(text))}


def test_channels_are_opened_in_known_functions(found: dict[str, set[str]]) -> None:
    assert found == OPENERS, "a channel needs NO_PROXY of envwire.wire.addresses"


def test_each_of_these_files_refuses_proxies() -> None:
    for path, text in sources():
        if openers(text):
            assert "NO_PROXY" in text or "grpc.enable_http_proxy" in text, path


@pytest.mark.parametrize(
    ("file", "option"),
    [
        ("client/typescript/src/transports/grpc_client.ts", '"grpc.enable_http_proxy": 0'),
        ("client/cpp/src/transports/grpc.cc", "GRPC_ARG_ENABLE_HTTP_PROXY, 0"),
    ],
)
def test_other_libraries_refuse_proxies(file: str, option: str) -> None:
    assert option in (ROOT / file).read_text(encoding="utf-8")
