// Reading and writing the contract's errors.
#pragma once

#include <string>

#include "envwire/error.hpp"
#include "envwire/v1/status.pb.h"
#include "reasons.h"

namespace envwire::internal {

// The connection broke or could not be opened: the request may be sent again.
class ConnectionError : public Error {
 public:
  ConnectionError(const std::string& message, bool refused, bool connected)
      : Error("UNAVAILABLE", message), refused(refused), connected(connected) {}
  bool refused;    // the address refuses connections
  bool connected;  // a connection had been open
};

// The row of a reason; null for one that is unknown here.
const Reason* FindReason(const std::string& name);

// Name of a gRPC status code.
const char* StatusName(int code);

Error ErrorFrom(const v1::ErrorStatus& status);

// Whether a session is gone for good after an error of this reason.
bool EndsSession(const std::string& reason);

}  // namespace envwire::internal
