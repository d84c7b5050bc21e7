"""Flows: what performs an effect may raise anything that an environment raises."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NoReturn

import pytest

from envwire.client._session.flows import run


@pytest.mark.parametrize("error", [StopIteration(3), RuntimeError("x"), KeyError("k")])
def test_an_exception_of_an_effect_is_raised_as_it_is(error: Exception) -> None:
    def inner() -> Generator[str, Any, int]:
        yield "effect"
        return 1

    def outer() -> Generator[str, Any, int]:
        return (yield from inner())

    def perform(_: str) -> NoReturn:
        raise error

    with pytest.raises(type(error)) as raised:
        run(outer(), perform)
    assert raised.value is error
