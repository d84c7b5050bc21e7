// Renews the lease of a session in the background.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "transports/transport.h"

namespace envwire::internal {

// Renews the lease every third of its duration, while no connection holds it.
class LeaseKeeper {
 public:
  LeaseKeeper(std::unique_ptr<Transport> control, std::string header, Seconds lease);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Whether a connection currently holds the lease, so that no renewal is needed.
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

}  // namespace envwire::internal
