"""Chooses the step codec of a session."""

from __future__ import annotations

import os
from typing import Final

from envwire.codec.family import Family
from envwire.codec.fastpath.step_codec import FixedPartsStepCodec
from envwire.codec.steps.messages import StepCodec

FASTPATH: Final = "ENVWIRE_FASTPATH"
"""Environment variable that switches the fast path off if it is 0, so that all steps use protobuf messages."""


def step_codec(family: Family, *, vector: bool = False) -> StepCodec:
    """Returns a codec for one end of a session.

    Args:
        family: Classes to build values of.
        vector: Whether the steps return batches.
    """
    if os.environ.get(FASTPATH) == "0":
        return StepCodec(family)
    return FixedPartsStepCodec(family, vector=vector)
