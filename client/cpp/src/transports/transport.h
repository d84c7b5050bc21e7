// How requests reach a session.
#pragma once

#include "session/client_session.h"

namespace envwire::internal {

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // "direct", "stream" or "unary".
  virtual const char* name() const = 0;

  // Sends a request and waits for its answer. Opens a connection where there is none.
  // Throws ConnectionError when the connection broke, and Error (DEADLINE_EXCEEDED) when the deadline passed; both
  // leave no connection behind whose late answer could be taken for another one's.
  virtual void Exchange(const Request& request, const std::string& header, Clock::time_point deadline,
                        Answer* answer) = 0;

  // Whether an open connection keeps the session alive, so that its lease need not be renewed.
  virtual bool holds_lease() const = 0;
};

// Throws ConnectionError for the answer to another request: what follows on that connection is out of step as well.
inline void CheckKind(const Request& request, const Answer& answer) {
  const auto kind = static_cast<int>(answer.message.response_case());
  if (kind != static_cast<int>(request.kind) && !answer.message.has_error()) {
    throw ConnectionError("the server answered another request", false, true);
  }
}

}  // namespace envwire::internal
