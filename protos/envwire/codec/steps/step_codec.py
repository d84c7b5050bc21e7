"""The `StepCodec` interface: encodes and decodes the messages of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from envwire.wire.frames import Area, Attachments

StepResult: TypeAlias = tuple[Any, Any, Any, Any, dict[Any, Any]]
"""The result of `Env.step`."""


PlainStep: TypeAlias = tuple[int, Any]
"""A step without optional fields: its sequence number, and its action or batch of actions."""


class StepCodec(Protocol):
    """Encodes and decodes the steps of one session, at one of its ends.

    Implementations are compatible: each reads what another wrote, to the same values of the same types. They may keep
    state from step to step, so each end of a session has its own. Messages other than a plain step or a plain answer
    are left to the caller: a request with a generator's state or a chunk of actions, an answer with warnings, an error.
    """

    def encode_request(self, sequence: int, action: Any) -> bytes:
        """Returns the InteractRequest of a plain step, without a header.

        Raises:
            CodecError: The action has no wire form.
        """
        ...

    def decode_request(self, raw: bytes) -> PlainStep | None:
        """Reads an InteractRequest; None if it is not a plain step, or its action cannot be read."""
        ...

    def encode_response(self, result: StepResult, attachments: Attachments | None = None) -> bytes:
        """Returns the InteractResponse of a step.

        Args:
            result: What the environment returned.
            attachments: Empty; receives large arrays, which are the environment's own, not copies.

        Raises:
            CodecError: The observation, or a key of the info, has no wire form.
        """
        ...

    def decode_response(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Reads an InteractResponse; None if it is not a plain answer to a step.

        Args:
            raw: The answer.
            area: Its attachments.

        Raises:
            CodecError: The answer breaks the contract.
        """
        ...
