"""The recipe of an environment: what of a Make decides the cost of a step."""

from __future__ import annotations

import hashlib

from envwire.v1 import environment_pb2 as pb


def recipe_of(make: pb.MakeRequest) -> bytes:
    """Returns a digest of the environment, its keyword arguments and wrappers, but not of how many of them are made."""
    asked = pb.MakeRequest()
    asked.CopyFrom(make)
    asked.ClearField("lease")
    asked.ClearField("vector")
    asked.ClearField("copy_of")
    asked.ClearField("request_id")
    asked.prefer = asked.prefer or "envwire"
    if not asked.kwargs.entries:
        asked.ClearField("kwargs")
    return hashlib.blake2b(asked.SerializeToString(deterministic=True), digest_size=16).digest()
