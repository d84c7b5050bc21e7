// Values as messages of the contract, and back.
#pragma once

#include <memory>
#include <string>

#include "envwire/v1/values.pb.h"
#include "envwire/value.hpp"

namespace envwire::internal {

// Elements that came behind a message on a direct channel; tensors point into them.
struct Attachments {
  std::shared_ptr<const char> data;
  std::size_t size = 0;
};

// Throw envwire::Error (INVALID_VALUE) for what has no wire form, or is broken.
void Encode(const Value& value, v1::Value* message);
void Encode(const Dict& dict, v1::ValueMap* message);
Value Decode(v1::Value* message, const Attachments& attachments);
Dict Decode(v1::ValueMap* message, const Attachments& attachments);
NdArray Decode(v1::Tensor* message, const Attachments& attachments);
// A value that has to be an array.
NdArray DecodeArray(v1::Value* message, const Attachments& attachments);
void Encode(const NdArray& array, v1::Tensor* message);

}  // namespace envwire::internal
