"""Encodes and decodes values, spaces, specs and errors: pure functions, no I/O.

A value arrives as what it was: an `np.float32` is none of Python's floats, a tuple no list, an array has its dtype and
shape. `values` has a table of types for each direction; `family` says to whose classes values are decoded,
envwire's or Gymnasium's. What has no wire form becomes an `Opaque` with its type and text where that is harmless, and a
`CodecError` with the path of the value where it is not. Calls bound depth and size, because bytes come from strangers.

`spaces` encodes spaces with the state of their generators, so that both sides sample the same. `errors` has the table
of reasons, from which documents and the other languages are written, and turns exceptions into faults and back.

`fastpath` writes and reads steps without building messages: two steps of an environment differ in a few bytes, so it
remembers the rest. Its bytes equal protobuf's; whatever it does not know, it leaves to `steps`, and tests compare both.
"""

from envwire.codec.errors.exceptions import exception_from_fault, fault_from_exception
from envwire.codec.errors.faults import CodecError, FaultError, RemoteExceptionInfo
from envwire.codec.errors.reasons import Reason
from envwire.codec.errors.statuses import (
    decode_fault,
    decode_warnings,
    encode_fault,
    encode_warnings,
)
from envwire.codec.family import Family, envwire_family, gymnasium_family
from envwire.codec.spaces.kinds import decode_space, encode_space
from envwire.codec.spaces.random_states import (
    decode_random_state,
    encode_random_state,
    restore_random_state,
)
from envwire.codec.spaces.specs import decode_env_spec, encode_env_spec
from envwire.codec.values.encoding import (
    decode_mapping,
    decode_value,
    decode_values,
    encode_mapping,
    encode_value,
    encode_values,
)
from envwire.codec.values.foreign import Opaque

__all__ = [
    "CodecError",
    "Family",
    "FaultError",
    "Opaque",
    "Reason",
    "RemoteExceptionInfo",
    "decode_env_spec",
    "decode_fault",
    "decode_mapping",
    "decode_random_state",
    "decode_space",
    "decode_value",
    "decode_values",
    "decode_warnings",
    "encode_env_spec",
    "encode_fault",
    "encode_mapping",
    "encode_random_state",
    "encode_space",
    "encode_value",
    "encode_values",
    "encode_warnings",
    "envwire_family",
    "exception_from_fault",
    "fault_from_exception",
    "gymnasium_family",
    "restore_random_state",
]
