#include "session/retry_schedule.h"

#include <algorithm>

namespace envwire::internal {
namespace {

constexpr Seconds kFirstPause{0.02};
constexpr Seconds kLongestPause{1.0};
// Upper limit of a pause, as a fraction of the lease.
constexpr double kPartOfLease = 0.25;
// For how long a Make is repeated after its connection broke, while somebody listens there.
constexpr Seconds kMake{2.0};

}  // namespace

std::optional<Seconds> RetrySchedule::Failed(Clock::time_point now, bool refused, bool connected) {
  if (!late_) {
    late_ = true;
    last_cut_ = now;
    pause_ = kFirstPause;
  } else if (connected && lease.count() > 0) {
    last_cut_ = now;
  }
  const Seconds left = std::min(Seconds(last_cut_ - now) + Span(refused, connected), Seconds(deadline - now));
  if (left.count() <= 0) return std::nullopt;
  const Seconds pause = pause_;
  const Seconds life = lease.count() > 0 ? lease : kMake;
  pause_ = std::min({2 * pause, kLongestPause, Seconds(life * kPartOfLease)});
  return std::min(pause, left);
}

void RetrySchedule::Answered() {
  if (late_ && lease.count() > 0) ++resumed;
  late_ = false;
}

Seconds RetrySchedule::Span(bool refused, bool connected) const {
  if (lease.count() <= 0) return connected && !refused ? kMake : Seconds(0);
  return refused ? std::min(lease, refused_span) : lease;
}

}  // namespace envwire::internal
