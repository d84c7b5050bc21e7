// Drives a session over a transport: sends what it says, waits, and hands over what came of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "transports/transport.h"

namespace envwire::internal {

// Says that the client is alive, every third of the lease, while no connection does.
class LeaseKeeper {
 public:
  LeaseKeeper(std::unique_ptr<Transport> control, std::string header, Seconds lease);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Whether a connection holds the lease at present, so that none of this is needed.
  void set_held(bool held) { held_.store(held, std::memory_order_relaxed); }

 private:
  void Run();

  std::unique_ptr<Transport> control_;
  std::string header_;
  Seconds pause_;
  std::atomic<bool> held_{false};
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::thread thread_;
};

class Driver {
 public:
  Driver(std::optional<Seconds> timeout, std::unique_ptr<Transport> transport);

  v1::MakeResponse Make(const v1::MakeRequest& request);
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
