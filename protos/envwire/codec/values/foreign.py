"""What stands for a value without a wire form: a NumPy array or a number if there is an equal one, else `Opaque`.

An array of torch, JAX or CuPy travels as a NumPy array; a `Decimal`, a `Fraction` or another number as an int or a
float; of any other object, the type and the repr. Only classes without a wire form of their own are looked at here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError
from envwire.v1 import values_pb2

_MAX_TEXT: Final = 1000


@dataclass(frozen=True)
class Opaque:
    """The stand-in for an object without a wire form. It is never turned back into the object.

    Attributes:
        type_name: Qualified name of the object's class, for example "types.FunctionType".
        text: Its repr, at most 1,000 characters.
    """

    type_name: str
    text: str

    def __bool__(self) -> bool:
        """Raises TypeError, since the truth of the object is not known here."""
        raise TypeError(self._unknown("neither true nor false"))

    def __float__(self) -> float:
        """Raises TypeError, since the value of the object is not known here."""
        raise TypeError(self._unknown("no number"))

    def __getattr__(self, name: str) -> Any:
        """Raises AttributeError, since the attributes of the object are not here."""
        if name.startswith("__") or "type_name" not in vars(
            self
        ):  # asked by pickle, of one that is not filled yet
            raise AttributeError(name)
        raise AttributeError(self._unknown(f"without {name!r}"), name=name, obj=self)

    def _unknown(self, what: str) -> str:
        return (
            f"a {self.type_name} stayed on the server, and its stand-in is {what} here; convert it in the environment, "
            "or use it in a wrapper on the server (`wrappers=[...]`)"
        )


def encode_opaque(value: object, message: values_pb2.Opaque) -> None:
    """Writes the name and the repr of any object; never raises."""
    if isinstance(value, Opaque):
        # A server whose environment is itself remote passes an Opaque on.
        message.type_name, message.text = value.type_name, value.text
    else:
        message.type_name = printable(type_name(type(value)))
        message.text = printable(_safe_repr(value)[:_MAX_TEXT])


def type_name(kind: type) -> str:
    """Returns the qualified name of a class, for example "builtins.ValueError"."""
    return f"{kind.__module__}.{kind.__qualname__}"


def printable(text: str) -> str:
    """Escapes lone surrogates, because protobuf strings have to be valid Unicode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # the object's `__repr__` may raise anything
        return f"<repr raised {type(error).__name__}>"


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
