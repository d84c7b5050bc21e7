"""The types in the signatures of environments; the parameters default to ``Any``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray
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

#: An array of any dtype and shape.
Array: TypeAlias = "NDArray[Any]"

#: What `reset` and `step` tell besides the observation.
Info: TypeAlias = dict[str, Any]

#: What `step` of a vector environment returns: observations, rewards, terminations, truncations and
#: infos.
VectorStep: TypeAlias = tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]

#: What `reset` may be told besides the seed.
Options: TypeAlias = dict[str, Any] | None


class PartialGeneric:
    """Lets a generic class be subscripted with fewer parameters than it has."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, params):
            given = params if isinstance(params, tuple) else (params,)
            missing = len(cls.__parameters__) - len(given)
            return super().__class_getitem__(given + (Any,) * missing)
