// Frames of the direct channel: a header of 16 bytes, a message, and attachments. docs/protocol.md, "Frames".
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "session/client_session.h"

namespace envwire::internal {

constexpr std::size_t kFrameHeaderBytes = 16;
constexpr char kPreamble[8] = {'e', 'n', 'v', 'w', 'i', 'r', 'e', 1};

// Numbers are little-endian, as are all machines that this library is built for.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the library moves elements as they are");

template <class Number>
void PutNumber(Number number, char* out) {
  std::memcpy(out, &number, sizeof(number));
}

template <class Number>
Number GetNumber(const char* in) {
  Number number;
  std::memcpy(&number, in, sizeof(number));
  return number;
}

// Writes the header of a frame at `out`, kFrameHeaderBytes long.
inline void PutFrameHeader(std::size_t message, std::size_t attachments, char* out) {
  PutNumber(static_cast<std::uint32_t>(message), out);
  PutNumber(std::uint32_t{0}, out + 4);
  PutNumber(static_cast<std::uint64_t>(attachments), out + 8);
}

// A whole frame that holds a message, and no attachments.
template <class Message>
std::string FrameOf(const Message& message) {
  std::string frame(kFrameHeaderBytes, '\0');
  PutFrameHeader(message.ByteSizeLong(), 0, frame.data());
  message.AppendToString(&frame);
  return frame;
}

// Appends an InteractRequest that holds `request`: its header, then its body.
void AppendEnvelope(const Request& request, const std::string& header, std::string* out);

// Puts a whole frame that holds an InteractRequest into `frame`, whose memory is used again.
void WriteRequestFrame(const Request& request, std::string* frame);

}  // namespace envwire::internal
