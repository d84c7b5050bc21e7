// The serialised answer to a request.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "session/client_session.h"

namespace envwire::internal {

// A request as it came, without its header.
struct RequestView {
  Kind kind = Kind::REQUEST_NOT_SET;
  std::string_view body;
};

// An answer, kept as the whole frame of a direct channel; streams and unary calls send parts of it.
class Reply {
 public:
  explicit Reply(const v1::InteractResponse& message);

  const std::string& frame() const { return frame_; }
  // The InteractResponse.
  std::string_view envelope() const;
  // The message inside of it.
  std::string_view body() const;
  bool failed() const { return failed_; }

 private:
  std::string frame_;
  bool failed_;
};
using ReplyPtr = std::shared_ptr<const Reply>;

ReplyPtr ErrorReply(const std::exception& thrown, Kind kind = Kind::REQUEST_NOT_SET);

}  // namespace envwire::internal
