"""Checks a Make against the operator's lists of ids, keyword arguments and wrappers.

Rules for the values of keyword arguments, as the operator writes them:

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, final

import numpy as np

from envwire.codec import CodecError, FaultError, Reason, decode_value
from envwire.server._grammar import counted
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2, values_pb2

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


#: Gymnasium wrappers that write files or open windows on the server; allowed only if the operator lists them.
RESERVED_WRAPPERS = frozenset({"RecordVideo", "HumanRendering"})
#: Gymnasium wrappers that load array libraries of gigabytes, for answers that have no wire form; on a public server
#: allowed only if the operator lists them.
CONVERTING_WRAPPERS = frozenset({"ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"})
#: Modules of the libraries' own wrappers.
_MODULE = re.compile(r"^(gymnasium|envwire\.envs)\.wrappers:(?=\w+$)")
#: The render mode that opens a window on the server.
_WINDOW = "human"

#: Kinds of values that are decoded for the check. Others may be large, and no rule allows them.
_PLAIN = frozenset(
    {"none", "bool_value", "int_value", "big_int_value", "float_value", "string_value", "scalar"}
)

_EVERYWHERE = ""
_OWNED = re.compile(r"(?:([^=\[\]{}]+)=)?(.*)")

Rules = Mapping[str, Mapping[str, Rule]]

_SEAL = object()


@final
@dataclass(frozen=True)
class MakeOrder:
    """A Make that the operator's lists allow. Only `AllowList.check` creates one.

    Session processes accept only such orders, so nothing is made unchecked.

    Attributes:
        request: The MakeRequest.
        seal: An object private to this module.
    """

    request: bytes
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        """Checks the seal.

        Raises:
            TypeError: The order was not made by `AllowList.check`.
        """
        if seal is not _SEAL:
            raise TypeError(
                "a MakeOrder comes from AllowList.check, which checks what is to be made"
            )


@dataclass(frozen=True)
class AllowList:
    """The operator's lists.

    Attributes:
        any_kwargs: Whether unlisted keyword arguments are allowed (the default on loopback).
        kwargs: Rules of keyword arguments by name, per id or wrapper; "" applies to all.
        wrappers: Additional wrappers as "module:Class", and reserved ones by name.
        max_envs: Largest number of environments in one session's vector environment.
    """

    any_kwargs: bool = True
    kwargs: Rules = field(default_factory=dict[str, dict[str, Rule]])
    wrappers: frozenset[str] = frozenset()
    max_envs: int = 1024

    @classmethod
    def of(cls, config: ServerConfig) -> AllowList:
        """Returns the lists of a server.

        Raises:
            ValueError: A rule is invalid.
        """
        kwargs, wrappers = read_allowed(config.allow_kwargs), frozenset(config.allow_wrappers)
        return cls(config.loopback, kwargs, wrappers, config.max_envs_per_session)

    def check(self, request: environment_pb2.MakeRequest) -> MakeOrder:
        """Returns the order for a Make, or refuses what the operator's lists do not allow.

        Raises:
            FaultError: KWARGS_NOT_ALLOWED or WRAPPER_NOT_ALLOWED, with the names and the option that allows them;
                CAPACITY_REACHED for a vector environment that is too large.
        """
        self._check_render_mode(request)
        if request.HasField("vector"):
            self._check_number(request.vector.num_envs)
            self._check_members(request)
        self._check_kwargs(request.env_id, request.kwargs)
        order = environment_pb2.MakeRequest()
        order.CopyFrom(request)
        for wrapper in order.wrappers:
            if wrapper.name not in self.wrappers:
                # The library's own wrappers have short names: "gymnasium.wrappers:TimeLimit" becomes "TimeLimit".
                wrapper.name = _MODULE.sub("", wrapper.name)
            self._check_wrapper(wrapper.name)
            self._check_kwargs(wrapper.name, wrapper.kwargs)
        return MakeOrder(order.SerializeToString(), _SEAL)

    def _check_render_mode(self, request: environment_pb2.MakeRequest) -> None:
        rule = self._listed(request.env_id).get("render_mode")
        listed = self.any_kwargs or (rule is not None and rule.allows(_WINDOW))
        if request.render_mode == _WINDOW and not listed:
            raise FaultError(
                Reason.KWARGS_NOT_ALLOWED,
                'render_mode="human" opens a window on the server, which is not allowed there; ask for "rgb_array" and '
                f"show the frames yourself. The operator allows it with --allow-kwargs {request.env_id}=render_mode",
            )

    def _listed(self, owner: str) -> dict[str, Rule]:
        return {**self.kwargs.get(_EVERYWHERE, {}), **self.kwargs.get(owner, {})}

    def _check_number(self, num_envs: int) -> None:
        if num_envs == 0:
            raise FaultError(
                Reason.INVALID_VALUE, "a vector environment of 0 environments; ask for 1 or more"
            )
        if num_envs > self.max_envs:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"a session takes {counted(self.max_envs, 'environment')} at most here, not {num_envs}; spread them "
                "over more sessions. The operator changes that with --max-envs-per-session",
                metadata={"max_envs_per_session": str(self.max_envs)},
            )

    def _check_members(self, request: environment_pb2.MakeRequest) -> None:
        given, num_envs = request.vector.member_kwargs, request.vector.num_envs
        if given and len(given) != num_envs:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"keyword arguments for {counted(len(given), 'member')} of a vector environment of {num_envs}; give "
                "each its own, or none of them",
            )
        for kwargs in given:
            self._check_kwargs(request.env_id, kwargs)

    def _check_kwargs(self, owner: str, kwargs: values_pb2.ValueMap) -> None:
        listed = self._listed(owner)
        refused = sorted({entry.name for entry in kwargs.entries} - set(listed))
        if refused and not self.any_kwargs:
            raise FaultError(
                Reason.KWARGS_NOT_ALLOWED,
                f"keyword arguments {', '.join(refused)} of {owner} are not listed on this server; "
                f"it allows {', '.join(sorted(listed)) or 'none'}. The operator lists more with "
                f"--allow-kwargs {owner}={','.join(refused)}",
            )
        for entry in kwargs.entries:
            rule = listed.get(entry.name, ANYTHING)
            if entry.HasField("other"):  # a key of another type would not match its rule
                raise FaultError(Reason.INVALID_VALUE, f"{owner}: name keyword arguments by texts")
            if rule is not ANYTHING and not rule.allows(_plain(entry)):
                raise FaultError(
                    Reason.KWARGS_NOT_ALLOWED,
                    f"{entry.name} of {owner} must be {rule} on this server; pass such a value. The operator changes "
                    "the rule with --allow-kwargs",
                )

    def _check_wrapper(self, name: str) -> None:
        if name in self.wrappers:
            return
        reserved = RESERVED_WRAPPERS if self.any_kwargs else RESERVED_WRAPPERS | CONVERTING_WRAPPERS
        if ":" in name or name in reserved:
            raise FaultError(
                Reason.WRAPPER_NOT_ALLOWED,
                f"wrapper {name!r} is not listed on this server; it allows the wrappers of its libraries by name"
                f" and {', '.join(sorted(self.wrappers)) or 'no others'}. The operator lists more with"
                f" --allow-wrapper {name}",
            )


def read_allowed(lists: Iterable[str]) -> Rules:
    """Parses --allow-kwargs: "RULES" for all, "OWNER=RULES" for one id or wrapper (see `argument_rules`).

    Raises:
        ValueError: A rule is invalid.
    """
    kwargs: dict[str, dict[str, Rule]] = {}
    for item in lists:
        found = _OWNED.fullmatch(item)
        owner, rules = found.groups() if found else (None, item)
        kwargs.setdefault(owner or _EVERYWHERE, {}).update(read_rules(rules))
    return kwargs


def _plain(entry: values_pb2.ValueEntry) -> Any:
    """Returns the value of an entry, or an object that no rule allows if the value is not plain."""
    if entry.value.WhichOneof("kind") not in _PLAIN or entry.value.scalar.shape:
        return ...
    try:
        return decode_value(entry.value, None, opaque=False)
    except CodecError as error:
        raise FaultError(Reason.INVALID_VALUE, str(error)) from error
