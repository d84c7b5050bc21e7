#include "kit/main_loop.h"

#include <algorithm>

#include "envwire/error.hpp"

namespace envwire::internal {
namespace {

constexpr Seconds kMostWait{3600};

[[noreturn]] void ThrowEnded() { throw Error("DRAINING", "the server stops"); }

}  // namespace

void MainLoop::Run(const std::function<void()>& call) {
  std::future<void> done;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thread_ != std::this_thread::get_id()) {
      if (ended_) ThrowEnded();
      done = calls_.emplace_back(call).get_future();
    }
  }
  if (!done.valid()) return call();
  waiting_.notify_one();
  try {
    done.get();
  } catch (const std::future_error&) {  // it was never called
    ThrowEnded();
  }
}

std::size_t MainLoop::Poll(Seconds wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  waiting_.wait_for(lock, std::clamp(wait, Seconds{0}, kMostWait), [this] { return !calls_.empty(); });
  const std::size_t count = calls_.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::packaged_task<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
  return count;
}

void MainLoop::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  ended_ = true;
  calls_.clear();
}

}  // namespace envwire::internal
