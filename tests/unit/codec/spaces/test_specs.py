"""Specifications arrive equal, except for what would be imported."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.codec import (
    CodecError,
    Opaque,
    decode_env_spec,
    encode_env_spec,
    envwire_family,
    gymnasium_family,
)
from envwire.v1 import specs_pb2

FAMILIES = [envwire_family(), gymnasium_family()]


def make_here(**kwargs: Any) -> None:
    """Stands for what makes the proxy."""


def encoded(spec: Any) -> specs_pb2.EnvSpec:
    message = specs_pb2.EnvSpec()
    encode_env_spec(spec, message)
    return specs_pb2.EnvSpec.FromString(message.SerializeToString())


def full_spec(family: Any) -> Any:
    wrapper = family.WrapperSpec("TimeLimit", "some.module:TimeLimit", {"steps": (3, np.int8(4))})
    return family.EnvSpec(
        id="farm/Full-v3",
        entry_point="some.module:Full",
        reward_threshold=12.5,
        nondeterministic=True,
        max_episode_steps=77,
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"map": "4x4", "size": {"w": 3, 2: None}},
        additional_wrappers=(wrapper, family.WrapperSpec("Silent", "some.module:Silent", None)),
        vector_entry_point="some.module:FullVector",
    )


def here(spec: Any, family: Any) -> Any:
    """The expected result of a specification."""
    wrappers = tuple(family.WrapperSpec(**vars(wrapper)) for wrapper in spec.additional_wrappers)
    values = {
        field.name: getattr(spec, field.name) for field in dataclasses.fields(spec) if field.init
    }
    values |= {
        "entry_point": make_here,
        "vector_entry_point": None,
        "additional_wrappers": wrappers,
    }
    return family.EnvSpec(**values)


@pytest.mark.parametrize("target", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("source", FAMILIES, ids=lambda family: family.name)
def test_specs_cross_families(source: Any, target: Any) -> None:
    for spec in (full_spec(source), source.EnvSpec("Bare")):
        arrived = decode_env_spec(encoded(spec), target, make_here)
        assert type(arrived) is target.EnvSpec
        assert arrived == here(spec, target)
        assert (arrived.namespace, arrived.name, arrived.version) == (
            spec.namespace,
            spec.name,
            spec.version,
        )


def test_every_registered_spec_arrives() -> None:
    for library, family in ((envwire.envs, FAMILIES[0]), (gymnasium, FAMILIES[1])):
        assert library.registry
        for spec in library.registry.values():
            assert decode_env_spec(encoded(spec), family, make_here) == here(spec, family)


def test_places_are_told_but_not_taken_over() -> None:
    message = encoded(full_spec(FAMILIES[0]))
    assert message.entry_point == "some.module:Full"
    assert message.vector_entry_point == "some.module:FullVector"
    spec = envwire.envs.registry["CartPole-v1"]
    for entry_point, place in [
        (
            test_places_are_told_but_not_taken_over,
            f"{__name__}:test_places_are_told_but_not_taken_over",
        ),
        (Opaque, "envwire.codec.values.foreign:Opaque"),
        (partial(make_here), "functools:partial"),
        (None, ""),
    ]:
        assert encoded(dataclasses.replace(spec, entry_point=entry_point)).entry_point == place


def test_arguments_without_a_wire_form_become_stand_ins() -> None:
    spec = envwire.envs.spec("CartPole-v1")
    spec = dataclasses.replace(spec, kwargs={"reward": make_here, "other": 1})
    arrived = decode_env_spec(encoded(spec), FAMILIES[0], make_here)
    assert arrived.kwargs["reward"] == Opaque("builtins.function", repr(make_here))
    assert arrived.kwargs["other"] == 1


@pytest.mark.parametrize(
    "change", [{"max_episode_steps": -1}, {"max_episode_steps": "7"}, {"id": 3}]
)
def test_improper_specs_are_refused(change: dict[str, Any]) -> None:
    spec = full_spec(FAMILIES[1])
    vars(spec).update(change)
    with pytest.raises(CodecError, match="spec is not a proper specification"):
        encode_env_spec(spec, specs_pb2.EnvSpec())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_broken_specs_are_refused(family: Any) -> None:
    with pytest.raises(CodecError, match=r"spec\.id is an id 'a b@'"):
        decode_env_spec(specs_pb2.EnvSpec(id="a b@"), family, make_here)
    message = encoded(full_spec(family))
    message.additional_wrappers[0].kwargs.entries[0].value.tuple.values.add()
    with pytest.raises(CodecError, match=r'spec\.TimeLimit\.kwargs\["steps"\]\[2\] is of no kind'):
        decode_env_spec(message, family, make_here)
