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

// How many bytes the fills of one message may still grow to together: a few bytes of a peer must not take all memory.
struct FillAllowance {
  // By default as much as a message may hold by default.
  std::size_t left = std::size_t{256} << 20U;
};

// Throw envwire::Error (INVALID_VALUE) for what has no wire form, or is broken.
void Encode(const Value& value, v1::Value* message);
void Encode(const Dict& dict, v1::ValueMap* message);
// Parts of one message share `fills`.
Value Decode(v1::Value* message, const Attachments& attachments, FillAllowance* fills);
Dict Decode(v1::ValueMap* message, const Attachments& attachments, FillAllowance* fills);
NdArray Decode(v1::Tensor* message, const Attachments& attachments, FillAllowance* fills);
// A value that has to be an array.
NdArray DecodeArray(v1::Value* message, const Attachments& attachments, FillAllowance* fills);
// A message, or a part that is all that is read of one.
template <class Message>
auto Decode(Message* message, const Attachments& attachments) {
  FillAllowance fills;
  return Decode(message, attachments, &fills);
}
void Encode(const NdArray& array, v1::Tensor* message);

}  // namespace envwire::internal
