#include "kit/request_fields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace envwire::internal {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t kHeaderTag = (1U << 3U) | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
constexpr std::uint32_t kSequenceTag = (2U << 3U) | WireFormatLite::WIRETYPE_VARINT;
constexpr int kLastKind = 16;
constexpr int kErrorField = 15;

[[noreturn]] void Malformed(const char* why) { throw Error("MALFORMED_REQUEST", why); }

// Walks over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message)
      : message_(message),
        input_(reinterpret_cast<const std::uint8_t*>(message.data()), static_cast<int>(message.size())) {}

  // The next tag; 0 at the end.
  std::uint32_t Next() {
    const std::uint32_t tag = input_.ReadTag();
    if (tag == 0 && position() < message_.size()) Malformed("the request cannot be read");
    return tag;
  }
  void Skip(std::uint32_t tag) {
    if (!WireFormatLite::SkipField(&input_, tag)) Malformed("the request cannot be read");
  }
  std::uint64_t Varint() {
    std::uint64_t number = 0;
    if (!input_.ReadVarint64(&number)) Malformed("the request cannot be read");
    return number;
  }
  std::string_view Delimited() {
    std::uint32_t size = 0;
    if (!input_.ReadVarint32(&size) || size > message_.size() - position()) Malformed("the request cannot be read");
    const std::string_view part = message_.substr(position(), size);
    input_.Skip(static_cast<int>(size));
    return part;
  }
  std::size_t position() const { return static_cast<std::size_t>(input_.CurrentPosition()); }

 private:
  std::string_view message_;
  CodedInputStream input_;
};

}  // namespace

RequestView Unwrap(std::string_view message) {
  RequestView request;
  Fields fields(message);
  while (const std::uint32_t tag = fields.Next()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field > kLastKind || field == kErrorField ||
        WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      fields.Skip(tag);
    } else {
      request = {static_cast<Kind>(field), fields.Delimited()};
    }
  }
  if (request.kind == Kind::REQUEST_NOT_SET) Malformed("the message holds no request");
  return request;
}

Headed TakeHeader(std::string_view request) {
  Headed headed;
  Fields fields(request);
  for (std::size_t start = 0;; start = fields.position()) {
    const std::uint32_t tag = fields.Next();
    if (tag == 0) return headed;
    if (tag == kHeaderTag) {
      const std::string_view part = fields.Delimited();
      if (!headed.header.emplace().ParseFromArray(part.data(), static_cast<int>(part.size()))) {
        Malformed("the header cannot be read");
      }
    } else {
      fields.Skip(tag);
      headed.body.append(request.substr(start, fields.position() - start));
    }
  }
}

std::uint64_t SequenceOf(std::string_view body) {
  std::uint64_t sequence = 0;
  Fields fields(body);
  while (const std::uint32_t tag = fields.Next()) {
    if (tag == kHeaderTag) Malformed("a request on a direct channel has no header");
    if (tag == kSequenceTag) {
      sequence = fields.Varint();
    } else {
      fields.Skip(tag);
    }
  }
  return sequence;
}

}  // namespace envwire::internal
