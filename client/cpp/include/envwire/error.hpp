// The one error of this library.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace envwire {

// What the environment raised.
struct RemoteException {
  std::string type_name;  // "builtins.ValueError"
  std::string text;
};

// Something went wrong here, on the way, at the server or in the environment. `reason` tells what: one of the table in
// docs/protocol.md, "SESSION_LOST" for instance; where the server gave none, the name of the gRPC status,
// "UNAVAILABLE".
class Error : public std::runtime_error {
 public:
  Error(std::string reason, const std::string& message) : std::runtime_error(message), reason_(std::move(reason)) {}

  const std::string& reason() const { return reason_; }

  // Facts by name, "session_id" for instance.
  std::map<std::string, std::string> metadata;
  // Seconds to wait before another attempt, where the server said so.
  std::optional<double> retry_after;
  // The exception that the environment raised, if it did.
  std::optional<RemoteException> remote;
  // The remote traceback, innermost call last.
  std::vector<std::string> traceback;
  // The end of what the environment's process printed before it was lost.
  std::string output;

 private:
  std::string reason_;
};

}  // namespace envwire
