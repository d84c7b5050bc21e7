// A wait that begins by looking, where the last one was short.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "session/retry_schedule.h"

namespace envwire::internal {

// Longer waits are slept through; most steps of cheap environments are served in less. The Python client spins as long.
constexpr std::chrono::microseconds kSpin{200};

// An adaptive wait: one that follows a short one begins by looking, since to wake a sleeping processor costs as much as
// a cheap step. Never on a single processor, which the peer needs.
class Spin {
 public:
  // Calls `look` until it returns true or the moment is over; returns whether it did.
  template <class Look>
  bool Try(Look look) {
    begun_ = Clock::now();
    if (!short_) return false;
    do {
      if (look()) return true;
      sched_yield();
    } while (Clock::now() - begun_ < kSpin);
    return false;
  }
  // Ends the wait that began with Try.
  void Woke() { short_ = several_ && Clock::now() - begun_ < kSpin; }
  // Whether the next wait begins by looking.
  bool will_look() const { return short_; }

 private:
  Clock::time_point begun_{};
  bool short_ = false;
  bool several_ = std::thread::hardware_concurrency() > 1;
};

}  // namespace envwire::internal
