"""Environments that cannot be made: errors say where the failure occurred, and what to install on which side."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import envwire.envs
from envwire.client import InvalidRequestError, RemoteEnv, RemoteVectorEnv
from envwire.envs import error
from envwire.server import Server
from tests.compliance.broken_envs import HUGE, KEYLESS, PACKAGELESS, UNINSTALLED, WARNED
from tests.conftest import ROOT
from tests.tiers import first


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server(["tests/*"], imports=["tests.compliance.broken_envs"], sys_path=(ROOT,)) as server:
        yield server.target


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions take notes since 3.11")
def test_a_bare_key_error_says_that_the_environment_was_being_made(target: str) -> None:
    with pytest.raises(KeyError, match="missing") as caught:
        RemoteEnv(target, KEYLESS)
    notes: list[str] = vars(caught.value)["__notes__"]
    assert notes == [f"raised on the server, while {KEYLESS} was made"]
    with pytest.raises(KeyError, match="missing") as caught:
        RemoteVectorEnv(target, KEYLESS, num_envs=3, sessions=1)
    hint = "one process makes 3 of them; sessions= spreads them over more"
    assert vars(caught.value)["__notes__"] == [*notes, hint]


def test_a_missing_package_is_missing_on_the_server(target: str) -> None:
    with pytest.raises(error.DependencyNotInstalled) as caught:
        RemoteEnv(target, PACKAGELESS)
    assert "gymnasium[classic_control]" in str(caught.value)
    assert "on the server" in str(caught.value)


def test_so_is_a_missing_module(target: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no_such_simulator.*on the server"):
        RemoteEnv(target, UNINSTALLED)


@pytest.mark.parametrize("kind", first([RemoteEnv, RemoteVectorEnv]))  # a batch is 20 s of work
def test_a_space_that_is_too_large_is_named_with_its_environment(target: str, kind: Any) -> None:
    with pytest.raises(
        InvalidRequestError, match=r"Huge.*observation_space is 536870914 bytes .* 536870912"
    ):
        kind(target, HUGE)


@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
def test_warnings_before_the_exception_are_issued(target: str, transport: str) -> None:
    for make in (envwire.envs.make, partial(RemoteEnv, target, transport=transport)):
        with (
            pytest.warns(DeprecationWarning, match="the simulator is old"),
            pytest.raises(RuntimeError, match="too old"),
        ):
            make(WARNED)
