"""`Opaque`: the stand-in for an object without a wire form, with its type and repr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

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
