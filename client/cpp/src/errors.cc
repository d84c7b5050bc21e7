#include "errors.h"

#include <algorithm>
#include <array>

namespace envwire::internal {
namespace {

constexpr std::array<const char*, 17> kStatusNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Details carry google.rpc's type URLs, so Any::UnpackTo of these messages finds nothing.
template <class Message>
bool Unpack(const v1::ErrorStatus& status, const std::string& name, Message* message) {
  for (const auto& detail : status.details()) {
    if (detail.type_url() == "type.googleapis.com/" + name) {
      return message->ParseFromString(detail.value());
    }
  }
  return false;
}

}  // namespace

const Reason* FindReason(const std::string& name) {
  const auto* row =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const Reason& each) { return each.name == name; });
  return row == kReasons.end() ? nullptr : row;
}

const char* StatusName(int code) {
  return code >= 0 && code < static_cast<int>(kStatusNames.size()) ? kStatusNames[static_cast<std::size_t>(code)]
                                                                   : "UNKNOWN";
}

Error ErrorFrom(const v1::ErrorStatus& status) {
  v1::ErrorInfo info;
  const bool ours = Unpack(status, "google.rpc.ErrorInfo", &info) && info.domain() == "envwire";
  std::string reason = ours ? info.reason() : StatusName(status.code());
  Error error(reason, status.message().empty() ? reason : status.message());
  if (ours) error.metadata.insert(info.metadata().begin(), info.metadata().end());
  if (v1::DebugInfo debug; Unpack(status, "google.rpc.DebugInfo", &debug)) {
    error.traceback.assign(debug.stack_entries().begin(), debug.stack_entries().end());
    error.output = debug.detail();
  }
  if (v1::RetryInfo retry; Unpack(status, "google.rpc.RetryInfo", &retry)) {
    error.retry_after = static_cast<double>(retry.retry_delay().seconds()) + retry.retry_delay().nanos() * 1e-9;
  }
  if (v1::RemoteException remote; Unpack(status, "envwire.v1.RemoteException", &remote)) {
    error.remote = RemoteException{remote.type_name(), remote.text()};
  }
  return error;
}

bool EndsSession(const std::string& reason) {
  const Reason* row = FindReason(reason);
  return row != nullptr && row->ends_session;
}

}  // namespace envwire::internal
