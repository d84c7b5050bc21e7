"""Coroutines of a blocking client run to their end at once, and raise what an environment raises."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest

from envwire.client._drivers.coroutines import run


@pytest.mark.parametrize("error", [StopIteration(3), RuntimeError("x"), KeyError("k")])
def test_an_exception_is_raised_as_it_is(error: Exception) -> None:
    async def fail() -> NoReturn:
        raise error

    async def outer() -> int:
        return await fail()

    with pytest.raises(type(error)) as raised:
        run(outer())
    assert raised.value is error


def test_a_coroutine_runs_inside_an_event_loop_that_serves_others() -> None:
    async def inner() -> int:
        return 3

    async def main() -> int:
        return run(inner())

    assert asyncio.run(main()) == 3


def test_a_coroutine_that_waits_for_a_loop_is_closed_and_refused() -> None:
    ended = list[str]()

    async def wait() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    with pytest.raises(AssertionError, match="event loop"):
        run(wait())
    assert ended == ["closed"]
