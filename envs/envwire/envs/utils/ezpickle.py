"""Pickling of objects as their constructor arguments."""

from typing import Any


class EzPickle:
    """A base for objects that cannot be pickled but can be built again.

    Call ``EzPickle.__init__(self, *args, **kwargs)`` with the constructor's own arguments:
    unpickling (and copying) calls the constructor with them. Later state is lost.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._ezpickle_args = args
        self._ezpickle_kwargs = kwargs

    def __getstate__(self) -> dict[str, Any]:
        return {"_ezpickle_args": self._ezpickle_args, "_ezpickle_kwargs": self._ezpickle_kwargs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rebuilt = type(self)(*state["_ezpickle_args"], **state["_ezpickle_kwargs"])
        self.__dict__.update(rebuilt.__dict__)
