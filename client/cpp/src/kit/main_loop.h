// Calls of environments that the thread of a program's main loop runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "session/retry_schedule.h"

namespace envwire::internal {

class MainLoop {
 public:
  // Has the thread that polls run a call, and waits for it; that thread itself runs its calls at once. Throws what the
  // call throws, or Error (DRAINING) once the loop has ended.
  void Run(const std::function<void()>& call);
  // Runs the calls that wait, after up to `wait` for the first of them; returns how many there were. Those that come
  // meanwhile are for the next time.
  std::size_t Poll(Seconds wait);
  // The calls that wait fail, and those to come, except the calling thread's.
  void End();

 private:
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<std::packaged_task<void()>> calls_;
  std::thread::id thread_;
  bool ended_ = false;
};

}  // namespace envwire::internal
