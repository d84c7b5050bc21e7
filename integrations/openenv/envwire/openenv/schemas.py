"""JSON schemas of spaces, and of the OpenEnv messages that carry their elements."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from envwire.envs import spaces
from envwire.openenv.values import VALUE

Schema = dict[str, Any]

_TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}

#: Schema of the answer to `state`.
STATE: Schema = {
    "type": "object",
    "properties": {
        "episode_id": {"type": ["string", "null"]},
        "step_count": {"type": "integer", "minimum": 0},
    },
}


def object_schema(space: spaces.Space[Any]) -> Schema:
    """Returns the schema of an action or observation as an object, the only form that OpenEnv has."""
    inner = schema(space)
    if isinstance(space, spaces.Dict):
        return inner
    return {"type": "object", "properties": {VALUE: inner}, "required": [VALUE]}


@singledispatch
def schema(space: spaces.Space[Any]) -> Schema:
    """Returns the schema of a space's elements; what JSON schema cannot express goes into its description."""
    return {"description": str(space)}


@schema.register
def _(space: spaces.Discrete) -> Schema:
    first = int(space.start)
    return {"type": "integer", "minimum": first, "maximum": first + int(space.n) - 1}


@schema.register(spaces.Box)
@schema.register(spaces.MultiBinary)
@schema.register(spaces.MultiDiscrete)
def _(space: Any) -> Schema:
    inner: Schema = {"type": _TYPES.get(np.dtype(space.dtype).kind, "number")}
    for length in reversed(space.shape):
        inner = {"type": "array", "items": inner, "minItems": length, "maxItems": length}
    return {**inner, "description": str(space)}


@schema.register
def _(space: spaces.Text) -> Schema:
    return {"type": "string", "minLength": space.min_length, "maxLength": space.max_length}


@schema.register
def _(space: spaces.Dict) -> Schema:
    properties = {key: schema(item) for key, item in space.spaces.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


@schema.register
def _(space: spaces.Tuple) -> Schema:
    items = [schema(item) for item in space.spaces]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
