// When a request whose connection broke is sent again, and until when.
//
// A session keeps its last answer and answers a repeated request with it. So a request that got no answer because the
// connection broke is sent again, on a new connection, until the session's lease is over. The lease starts again with
// each connection that is opened and breaks; the request's own timeout bounds the total.
#pragma once

#include <chrono>
#include <optional>

namespace envwire::internal {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A century: more could not be added to the time of a clock, and a message can say more.
constexpr Seconds kForever{100.0 * 365 * 24 * 3600};

// The schedule of one session's retries. It is told the time and has no clock of its own.
class RetrySchedule {
 public:
  Seconds lease{0};  // how long the session outlives a connection; 0 until it is made
  // How long to retry while connections are refused: no session survives this, but a server may be restarting.
  Seconds refused_span{2};
  Clock::time_point deadline{};  // when the time of the present request is up
  int resumed = 0;               // how often a request was answered after its connection broke

  // Takes a connection that broke, or did not come about; returns the pause before the next try, nothing for none.
  std::optional<Seconds> Failed(Clock::time_point now, bool refused, bool connected);
  // Takes the answer to a request whose connection may have broken.
  void Answered();
  // Resets the schedule after a request was abandoned.
  void Forget() { late_ = false; }

 private:
  Seconds Span(bool refused, bool connected) const;

  bool late_ = false;
  Clock::time_point last_cut_{};
  Seconds pause_{0};
};

}  // namespace envwire::internal
