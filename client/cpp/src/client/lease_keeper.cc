#include "client/lease_keeper.h"

namespace envwire::internal {
namespace {

// A renewal that takes longer than this is tried again by the next one.
constexpr std::chrono::seconds kRenewal{5};
constexpr double kPartOfLease = 1.0 / 3.0;

}  // namespace

LeaseKeeper::LeaseKeeper(std::unique_ptr<Transport> control, std::string header, Seconds lease)
    : control_(std::move(control)),
      header_(std::move(header)),
      pause_(lease * kPartOfLease),
      thread_([this] { Run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

void LeaseKeeper::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_.wait_for(lock, pause_, [this] { return stopped_; })) {
    if (held_.load(std::memory_order_relaxed)) continue;
    lock.unlock();
    try {
      Answer answer;
      control_->Exchange({Kind::kRenewLease, ""}, header_, Clock::now() + kRenewal, &answer);
    } catch (const Error&) {  // the next request reports the state of the session
    }
    lock.lock();
  }
}

}  // namespace envwire::internal
