// Reads the parts of a request that a server needs first: its kind, its session, and its number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kit/reply.h"

namespace envwire::internal {

// Reads an InteractRequest. Throws Error (MALFORMED_REQUEST) if it is invalid or holds no request.
RequestView Unwrap(std::string_view message);

// A request without its header; requests are compared by these bytes.
struct Headed {
  std::optional<v1::SessionHeader> header;
  std::string body;
};
Headed TakeHeader(std::string_view request);

// The number of a request that has no header. Throws Error (MALFORMED_REQUEST) where it has one.
std::uint64_t SequenceOf(std::string_view body);

// Reads a message of the contract. Throws Error of this reason.
template <class Message>
Message Parsed(std::string_view body, const char* reason = "INVALID_VALUE") {
  Message message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    throw Error(reason, "the request cannot be read");
  }
  return message;
}

}  // namespace envwire::internal
