"""The error for a request that is not what its proto file describes."""

from __future__ import annotations

from envwire.codec import FaultError, Reason


def malformed(text: str, protos: str = "envwire/v1") -> FaultError:
    """Returns the MALFORMED_REQUEST error for a request.

    Args:
        text: What is wrong with it.
        protos: The folder of the proto file that describes it.
    """
    return FaultError(Reason.MALFORMED_REQUEST, f"{text}; send what protos/{protos} describes")
