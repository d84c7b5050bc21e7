"""Values of other array libraries and number types, as the NumPy arrays and numbers that stand for them.

An array of torch, JAX or CuPy travels as a NumPy array; a `Decimal`, a `Fraction` or another number as an int or a
float. Only classes without a wire form of their own are looked at here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import numpy as np

from envwire.codec.errors.codec_error import CodecError
from envwire.codec.values.opaque import type_name

#: The methods by which a class offers its value, and what reads it; the first that works counts. A number is read only
#: from what has no axes.
_OFFERS: Final[dict[str, Callable[[Any], Any]]] = {
    "__array__": np.asarray,
    "__dlpack__": np.from_dlpack,
    "__index__": operator.index,
    "__float__": float,
}
_ARRAYS: Final = ("__array__", "__dlpack__")


def _readable(tensor: Any) -> Any:
    """Returns a tensor of torch on the host; a number without its gradient, of which reading would warn."""
    if getattr(tensor, "is_cuda", False):
        tensor = tensor.cpu()
    return (
        tensor.detach() if getattr(tensor, "requires_grad", False) and not tensor.ndim else tensor
    )


#: How arrays come out of a GPU's memory, by the module of their library. Those of JAX offer `__array__` there too.
_TO_HOST: Final[dict[str, Callable[[Any], Any]]] = {
    "torch": _readable,
    "cupy": lambda array: array.get(),
}
#: Classes with a wire form. Those that extend them have one as well.
_OWN: Final = (
    *(np.generic, np.ndarray, type(None), bool, int, float, complex, str, bytes),
    *(list, tuple, set, dict),
)


def native(value: object) -> Any:
    """Returns what a foreign value stands for (see `adopted`), and any other value as it is."""
    kind = type(value)
    return adopted(value) if is_foreign(kind) and not issubclass(kind, _OWN) else value


def is_foreign(kind: type[Any]) -> bool:
    """Returns whether the values of a class stand for an array or a number."""
    special = issubclass(kind, (np.ndarray, Enum))  # masked arrays mean more than their elements
    return not special and any(_has(kind, name) for name in _OFFERS)


def adopted(value: object) -> Any:
    """Returns the NumPy array, the int or the float that a foreign value stands for.

    Raises:
        CodecError: The value cannot be read.
    """
    kind = type(value)
    if bring := _TO_HOST.get(kind.__module__.partition(".")[0]):
        value = bring(value)
    failures: list[Exception] = []
    for name in _OFFERS:
        if _has(kind, name) and (name in _ARRAYS or not getattr(value, "ndim", 0)):
            try:
                return _read(name, value)
            except Exception as error:
                failures.append(error)
    raise CodecError(
        f"a {type_name(kind)} that cannot be read ({failures[0]})",
        "a plain value or a NumPy array",
        "Convert it first; for a tensor of torch use `.detach().cpu().numpy()`.",
    ) from failures[0]


def _read(name: str, value: object) -> Any:
    taken = _OFFERS[name](value)
    if name in _ARRAYS and taken.dtype.kind == "O":
        raise TypeError("its elements are objects")
    return taken


def _has(kind: type[Any], name: str) -> bool:
    return getattr(kind, name, None) is not None
