// What may not be in a value, by where it stands.
#pragma once

#include "values/codec.h"

namespace envwire::internal {

bool HoldsOpaque(const Value& value);

// Decodes what a client sent. Throws Error (INVALID_VALUE) for keys that are not unique or not hashable, members of
// sets that are not, enumerations that nobody knows, and objects without a wire form.
Value DecodeSent(v1::Value* message);
Dict DecodeSent(v1::ValueMap* message);

}  // namespace envwire::internal
