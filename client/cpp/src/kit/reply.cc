#include "kit/reply.h"

#include <google/protobuf/io/coded_stream.h>

#include "kit/faults.h"
#include "transports/frames.h"

namespace envwire::internal {

Reply::Reply(const v1::InteractResponse& message) : failed_(message.has_error()) {
  const std::size_t size = message.ByteSizeLong();
  frame_.resize(kFrameHeaderBytes + size);
  PutFrameHeader(size, 0, frame_.data());
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(&frame_[kFrameHeaderBytes]));
}

std::string_view Reply::envelope() const { return std::string_view(frame_).substr(kFrameHeaderBytes); }

std::string_view Reply::body() const {
  const std::string_view all = envelope();
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(all.data()),
                                               static_cast<int>(all.size()));
  std::uint32_t size = 0;
  input.ReadTag();
  input.ReadVarint32(&size);
  return all.substr(static_cast<std::size_t>(input.CurrentPosition()), size);
}

ReplyPtr ErrorReply(const std::exception& thrown, Kind kind) {
  v1::InteractResponse message;
  *message.mutable_error() = StatusOf(thrown, kind);
  return std::make_shared<Reply>(message);
}

}  // namespace envwire::internal
