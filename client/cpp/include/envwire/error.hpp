// The error class of this library.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace envwire {

// The exception that the environment raised.
struct RemoteException {
  std::string type_name;  // "builtins.ValueError"
  std::string text;
};

// An error of the client, the connection, the server or the environment. `reason` is one of the table in
// docs/protocol.md, such as "SESSION_LOST", or if the server gave none, the name of the gRPC status, such as
// "UNAVAILABLE".
class Error : public std::runtime_error {
 public:
  Error(std::string reason, const std::string& message) : std::runtime_error(message), reason_(std::move(reason)) {}

  const std::string& reason() const { return reason_; }

  // Facts by name, such as "session_id".
  std::map<std::string, std::string> metadata;
  // Seconds to wait before another attempt, if the server gave them.
  std::optional<double> retry_after;
  // The exception that the environment raised, if it did.
  std::optional<RemoteException> remote;
  // The remote traceback, innermost call last.
  std::vector<std::string> traceback;
  // The last output of the environment's process, if it was lost.
  std::string output;

 private:
  std::string reason_;
};

}  // namespace envwire
