// Drives a session over a transport: sends its requests, waits, and passes the results to it.
#pragma once

#include <memory>

#include "client/lease_keeper.h"

namespace envwire::internal {

class Driver {
 public:
  Driver(std::optional<Seconds> timeout, std::unique_ptr<Transport> transport);

  v1::MakeResponse Make(v1::MakeRequest request);
  // Goes on over another transport; `control` renews the lease when that holds none.
  void Use(std::unique_ptr<Transport> transport, std::unique_ptr<Transport> control);

  // Serves one numbered request. The answer is this driver's until the next one.
  template <class Message>
  Answer& Serve(Kind kind, Message* message) {
    CheckOpen();
    if (session_.in_doubt()) SettleDoubt(kind);
    Exchange(session_.Next(kind, message, Clock::now()));
    return answer_;
  }

  // Stops renewing the lease.
  void Stop() { keeper_.reset(); }

  ClientSession& session() { return session_; }
  const Transport& transport() const { return *transport_; }

 private:
  void CheckOpen() const;
  void SettleDoubt(Kind next);
  void Exchange(const Request& request);

  ClientSession session_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<LeaseKeeper> keeper_;
  Answer answer_;
};

}  // namespace envwire::internal
