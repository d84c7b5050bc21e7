"""Rules for the values of keyword arguments, as the operator writes them.

gravity                     anything
is_slippery:bool            True or False
size:int[2..16]             a whole number in a range; either end may be left out
gravity:float[1..20]        a number in a range, whole ones included
label:str[..64]             a text of at most 64 characters
map_name:{4x4,8x8}          one of these texts
frame_skip:{1,2,4}          one of these whole numbers
seed:int[0..]?              or None
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_NUMBER = r"(?:-?\d+(?:\.\d+)?(?:e-?\d+)?)?"
_ITEM = re.compile(
    r"\s*(?P<name>\w+)\s*"
    rf"(?::\s*(?:(?P<kind>bool|int|float|str)(?:\[(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})\])?"
    r"|\{(?P<choices>[^{}]+)\})(?P<optional>\?)?\s*)?"
    r"(?:,|$)"
)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not _is_bool(value)


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "bool": ("True or False", _is_bool),
    "int": ("a whole number", _is_int),
    "float": ("a number", lambda value: isinstance(value, float | np.floating) or _is_int(value)),
    "str": ("a text", lambda value: isinstance(value, str)),
}


@dataclass(frozen=True)
class Rule:
    """The values that one keyword argument may have.

    Attributes:
        kind: "bool", "int", "float" or "str"; empty for any type.
        low: Smallest number, or smallest number of characters.
        high: Largest number, or largest number of characters.
        choices: The allowed values; empty for all of the kind.
        optional: Whether None is allowed.
    """

    kind: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str | int, ...] = ()
    optional: bool = False

    def allows(self, value: Any) -> bool:
        """Returns whether a client may pass `value`."""
        if not self.kind or (value is None and self.optional):
            return True
        if not _KINDS[self.kind][1](value):
            return False
        return value in self.choices if self.choices else self._within(value)

    def _within(self, value: Any) -> bool:
        size = len(value) if self.kind == "str" else value
        # Written so that NaN is in no range.
        return (self.low is None or size >= self.low) and (self.high is None or size <= self.high)

    def __str__(self) -> str:
        """Describes the expected value in an error message."""
        if self.choices:
            text = f"one of {', '.join(map(repr, self.choices))}"
        else:
            text = _KINDS[self.kind][0] if self.kind else "anything"
            unit = " characters" if self.kind == "str" else ""
            for word, limit in (("at least", self.low), ("at most", self.high)):
                text += f", {word} {limit:g}{unit}" if limit is not None else ""
        return text + (", or None" if self.optional else "")


#: Allows any value.
ANYTHING = Rule()


def read_rules(text: str) -> dict[str, Rule]:
    """Parses "name,name:kind[low..high],name:{choice,choice}".

    Raises:
        ValueError: The text does not have this form.
    """
    return {item["name"]: _rule(item) for item in _items(text)}


def _items(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None:
            raise ValueError(
                f"cannot read {text[position:]!r} in {text!r}; write a name, or name:bool, name:int[1..9], "
                "name:float[0..1], name:str[..64] or name:{one,another}, with commas between them"
            )
        yield item
        position = item.end()


def _rule(item: re.Match[str]) -> Rule:
    optional = item["optional"] is not None
    if item["choices"] is not None:
        words = [word.strip() for word in item["choices"].split(",")]
        whole = all(re.fullmatch(r"-?\d+", word) for word in words)
        choices = tuple(int(word) if whole else word for word in words)
        return Rule("int" if whole else "str", choices=choices, optional=optional)
    return Rule(item["kind"] or "", _limit(item["low"]), _limit(item["high"]), optional=optional)


def _limit(text: str | None) -> float | None:
    return float(text) if text else None
