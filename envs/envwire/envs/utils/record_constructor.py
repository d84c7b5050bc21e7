"""Records a wrapper's constructor arguments, so that its spec can build it again."""

from __future__ import annotations

from typing import Any


class RecordConstructorArgs:
    """A mixin whose constructor keeps its keyword arguments in ``_saved_kwargs``.

    Call it before the base class's constructor. The first call on an object wins, so that a wrapper
    built on top of another records its own arguments and not those it passes down.
    """

    _saved_kwargs: dict[str, Any]

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        """Keeps ``kwargs``.

        Args:
            _disable_deepcopy: Keep the objects themselves, for those that cannot be copied.
            **kwargs: The arguments to keep.
        """
        if hasattr(self, "_saved_kwargs"):
            return
        if not _disable_deepcopy and kwargs:
            from copy import deepcopy

            kwargs = deepcopy(kwargs)
        self._saved_kwargs = kwargs

    @property
    def saved_kwargs(self) -> dict[str, Any]:
        """The arguments that were kept."""
        return self._saved_kwargs
