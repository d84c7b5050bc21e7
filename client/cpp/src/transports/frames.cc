#include "transports/frames.h"

#include <google/protobuf/io/coded_stream.h>

#include <array>

namespace envwire::internal {
namespace {

using google::protobuf::io::CodedOutputStream;
constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::size_t kMostVarints = 16;  // a tag and a length

}  // namespace

void AppendEnvelope(const Request& request, const std::string& header, std::string* out) {
  std::array<std::uint8_t, kMostVarints> lead;
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(
      (static_cast<std::uint32_t>(request.kind) << 3U) | kLengthDelimited, lead.data());
  end = CodedOutputStream::WriteVarint64ToArray(header.size() + request.body.size(), end);
  out->append(reinterpret_cast<const char*>(lead.data()), static_cast<std::size_t>(end - lead.data()));
  out->append(header).append(request.body);
}

void WriteRequestFrame(const Request& request, std::string* frame) {
  frame->assign(kFrameHeaderBytes, '\0');
  AppendEnvelope(request, "", frame);
  PutFrameHeader(frame->size() - kFrameHeaderBytes, 0, frame->data());
}

}  // namespace envwire::internal
