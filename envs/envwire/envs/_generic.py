"""Type parameters that default to ``Any``, for type checkers and at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ObsType = TypeVar("ObsType", default=Any)
    ActType = TypeVar("ActType", default=Any)
    WrapperObsType = TypeVar("WrapperObsType", default=Any)
    WrapperActType = TypeVar("WrapperActType", default=Any)
    ArrayType = TypeVar("ArrayType", default=Any)
else:
    from typing import TypeVar

    ObsType = TypeVar("ObsType")
    ActType = TypeVar("ActType")
    WrapperObsType = TypeVar("WrapperObsType")
    WrapperActType = TypeVar("WrapperActType")
    ArrayType = TypeVar("ArrayType")


class PartialGeneric:
    """Lets a generic class be subscripted with fewer parameters than it has."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, params):
            given = params if isinstance(params, tuple) else (params,)
            missing = len(cls.__parameters__) - len(given)
            return super().__class_getitem__(given + (Any,) * missing)
