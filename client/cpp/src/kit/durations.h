// Seconds as messages.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <cmath>

namespace envwire::internal {

inline void SetDuration(double seconds, google::protobuf::Duration* message) {
  const double whole = std::floor(seconds);
  message->set_seconds(static_cast<std::int64_t>(whole));
  message->set_nanos(static_cast<std::int32_t>((seconds - whole) * 1e9));
}

}  // namespace envwire::internal
