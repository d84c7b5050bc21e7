"""Spaces of classes of their own arrive as the known space that they are derived from, with a warning."""

from __future__ import annotations

import gymnasium
import pytest

from envwire.codec import decode_space, encode_space, gymnasium_family
from envwire.v1 import spaces_pb2


class Box(gymnasium.spaces.MultiBinary):
    """Has the name of a known class and is none."""


class Mission(gymnasium.spaces.Space[str]):
    """A space of texts, as MiniGrid's MissionSpace: derived from no known space."""

    def __init__(self) -> None:
        super().__init__(dtype=str)


class Built(gymnasium.spaces.Tuple):
    """Builds the space in it each time that it is read."""

    def __init__(self, n: int) -> None:
        self._n = n
        super().__init__(())

    @property
    def spaces(self) -> tuple[gymnasium.Space, ...]:
        return (gymnasium.spaces.Discrete(self._n),)

    @spaces.setter
    def spaces(self, spaces: tuple[gymnasium.Space, ...]) -> None:
        pass


@pytest.mark.filterwarnings("ignore:a space of class:UserWarning")
def test_spaces_that_are_built_when_they_are_read_are_not_taken_for_each_other() -> None:
    message = spaces_pb2.Space()
    encode_space(gymnasium.spaces.Tuple([Built(2), Built(3), Built(4)]), message)
    arrived = decode_space(message, gymnasium_family())
    assert [part[0].n for part in arrived] == [2, 3, 4]


def test_a_subclass_arrives_as_its_base_with_a_warning() -> None:
    message = spaces_pb2.Space()
    with pytest.warns(UserWarning, match=r"class .*\.Box arrives as a MultiBinary at clients"):
        encode_space(gymnasium.spaces.Dict({"a": Box(3)}), message)
    expected = gymnasium.spaces.Dict({"a": gymnasium.spaces.MultiBinary(3)})
    assert decode_space(message, gymnasium_family()) == expected


def test_a_space_of_texts_arrives_as_a_text() -> None:
    message = spaces_pb2.Space()
    with pytest.warns(UserWarning, match=r"class .*\.Mission arrives as a Text at clients"):
        encode_space(Mission(), message)
    text = decode_space(message, gymnasium_family())
    assert type(text) is gymnasium.spaces.Text
    assert text.contains("get to the green goal square")
