"""Some environments of a vector are asked in the sessions that hold them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._session.attribute_operations import CallMethod, SetAttribute
from envwire.client._vector.members import Members
from envwire.client._vector.shards import Shard


class Held:
    """A session that holds some of the environments, and notes what it is asked."""

    def __init__(self, start: int, stop: int) -> None:
        self.spec = SimpleNamespace(start=start, stop=stop)
        self.handle = self
        self.set: list[tuple[Any, Any]] = []

    async def ask(self, operation: Any, *, recover: bool) -> Any:
        assert recover
        if isinstance(operation, CallMethod):
            return [f"{self.spec.start}+{member}" for member in operation.members]
        return None, True

    def serve(self, operation: SetAttribute) -> None:
        self.set.append((operation.value, operation.members))


class Envs(Members):
    """Three environments in the first session, and two in the second."""

    def __init__(self) -> None:
        self.sessions = [Held(0, 3), Held(3, 5)]

    def _idle(self) -> Any:
        return self.sessions


def test_results_come_in_the_order_of_the_indices() -> None:
    assert Envs().call_on([4, 0, 2], "jump") == ["3+1", "0+0", "0+2"]
    assert Envs().call_on([3], "jump") == ["3+0"]


def test_an_attribute_is_set_on_those_alone() -> None:
    envs = Envs()
    envs.set_attr_on([4, 0, 2], "gravity", 9.0)
    assert [each.set for each in envs.sessions] == [[([9.0, 9.0], [0, 2])], [([9.0], [1])]]


@pytest.mark.parametrize("lost", [False, True])
def test_a_buffer_is_offered_unless_the_session_is_lost(lost: bool) -> None:
    offered = list[Any]()
    driver = None if lost else SimpleNamespace(set_buffer=offered.append)
    episodes: Any = SimpleNamespace(spec=SimpleNamespace(size=1))
    handle: Any = SimpleNamespace(driver=driver)
    buffer: Any = object()
    Shard(episodes, handle).set_buffer(buffer)
    assert offered == ([] if lost else [buffer])
