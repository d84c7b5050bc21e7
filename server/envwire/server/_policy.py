"""What clients may ask for: the operator's lists, checked before anything is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason
from envwire.v1 import environment_pb2, values_pb2

#: Gymnasium wrappers that write files or open windows on the server: only when the operator lists them.
RESERVED_WRAPPERS = frozenset({"RecordVideo", "HumanRendering"})


@dataclass(frozen=True)
class Policy:
    """The operator's lists.

    Attributes:
        any_kwargs: Whether any keyword argument may be passed (the default on loopback).
        kwargs: Names of keyword arguments that may be passed for any id or wrapper.
        kwargs_by_owner: Further names, for single ids and wrappers.
        wrappers: Wrappers beyond the libraries' own, "module:Class", and reserved ones by name.
    """

    any_kwargs: bool = True
    kwargs: frozenset[str] = frozenset()
    kwargs_by_owner: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    wrappers: frozenset[str] = frozenset()

    @classmethod
    def from_lists(
        cls, *, any_kwargs: bool, allow_kwargs: Iterable[str], allow_wrappers: Iterable[str]
    ) -> Policy:
        """Reads the command line's lists: "name,name" for all, "OWNER=name,name" for one id or wrapper."""
        everywhere: set[str] = set()
        by_owner: dict[str, frozenset[str]] = {}
        for item in allow_kwargs:
            owner, separator, names = item.rpartition("=")
            listed = frozenset(name.strip() for name in names.split(",") if name.strip())
            if separator:
                by_owner[owner] = by_owner.get(owner, frozenset()) | listed
            else:
                everywhere |= listed
        return cls(any_kwargs, frozenset(everywhere), by_owner, frozenset(allow_wrappers))

    def check(self, request: environment_pb2.MakeRequest) -> None:
        """Refuses what the operator did not list.

        Raises:
            FaultError: KWARGS_NOT_ALLOWED or WRAPPER_NOT_ALLOWED, with the names and the option that lists them.
        """
        self._check_kwargs(request.env_id, request.kwargs)
        for wrapper in request.wrappers:
            self._check_wrapper(wrapper.name)
            self._check_kwargs(wrapper.name, wrapper.kwargs)

    def _check_kwargs(self, owner: str, kwargs: values_pb2.ValueMap) -> None:
        if self.any_kwargs:
            return
        listed = self.kwargs | self.kwargs_by_owner.get(owner, frozenset())
        refused = sorted({entry.name for entry in kwargs.entries} - listed)
        if refused:
            raise FaultError(
                Reason.KWARGS_NOT_ALLOWED,
                f"keyword arguments {', '.join(refused)} of {owner} are not listed on this server; "
                f"it allows {', '.join(sorted(listed)) or 'none'}. The operator lists more with "
                f"--allow-kwargs {owner}={','.join(refused)}",
            )

    def _check_wrapper(self, name: str) -> None:
        if name in self.wrappers:
            return
        if ":" in name or name in RESERVED_WRAPPERS:
            raise FaultError(
                Reason.WRAPPER_NOT_ALLOWED,
                f"wrapper {name!r} is not listed on this server; it allows the wrappers of its libraries by name"
                f" and {', '.join(sorted(self.wrappers)) or 'no others'}. The operator lists more with"
                f" --allow-wrapper {name}",
            )
