// One session: an environment, its numbers, its last answer, and its lease. No I/O happens here.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "kit/hosting/hosted.h"
#include "kit/replay/replaying.h"
#include "kit/reply.h"
#include "session/retry_schedule.h"

namespace envwire::internal {

// Throws the Error of a session that ended for this reason: SESSION_CLOSED, SESSION_EXPIRED or DRAINING.
[[noreturn]] void ThrowEnded(const std::string& reason);

class Session {
 public:
  // `on_end` is called once, when the session has ended.
  Session(std::string id, std::string secret, std::unique_ptr<Hosted> hosted, Seconds lease, std::size_t most_bytes,
          std::function<void(const Session&)> on_end);

  // Serves a request without its header. One is served at a time; the others wait, up to a limit.
  ReplyPtr Serve(const RequestView& request);
  // Serves a request of the server that runs this program: it has no number, and its answer is not kept.
  ReplyPtr ServeOwn(const RequestView& request);
  // Ends the session; only the first reason counts. Waits for a request that is being served.
  void End(const char* reason);

  const std::string& id() const { return id_; }
  const std::string& secret() const { return secret_; }
  Seconds lease() const { return lease_; }
  std::uint64_t requests() const { return requests_.load(std::memory_order_relaxed); }
  // Those of chunks each; steps that failed do not count.
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  // Why it ended; nullptr while it is live.
  const char* ended() const { return ended_.load(std::memory_order_acquire); }

  // Renews the lease.
  void Touch() { used_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }
  bool Expired() const;
  // Takes what closes the session's direct channel, and closes the one that it had before.
  void TakeChannel(std::function<void()> close);

 private:
  friend class Hold;

  ReplyPtr ServeNumbered(const RequestView& request);
  ReplyPtr AfterEnd(const RequestView& request) const;
  ReplyPtr Repeated(const RequestView& request);
  [[noreturn]] void RefuseGap(const RequestView& request, std::uint64_t sequence);
  ReplyPtr Served(const RequestView& request);
  void ServeInto(const RequestView& request, v1::InteractResponse* answer);
  void EndLocked(const char* reason);

  const std::string id_;
  const std::string secret_;
  const Seconds lease_;
  const std::size_t most_bytes_;
  const std::function<void(const Session&)> on_end_;
  std::unique_ptr<Hosted> hosted_;
  Replaying replaying_;
  std::mutex serving_;
  std::uint64_t last_ = 0;
  Kind kept_kind_ = Kind::REQUEST_NOT_SET;
  std::string kept_body_;
  ReplyPtr kept_;
  v1::InteractResponse answer_;  // used again with every request, so that its memory is
  std::mutex channel_;
  std::function<void()> close_channel_;
  std::atomic<const char*> ended_{nullptr};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<int> users_{0};
  std::atomic<Clock::rep> used_;
};
using SessionPtr = std::shared_ptr<Session>;

// For the lifetime of this object a connection uses the session, and its lease does not run.
class Hold {
 public:
  explicit Hold(SessionPtr session) : session_(std::move(session)) { ++session_->users_; }
  ~Hold() {
    session_->Touch();
    --session_->users_;
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  SessionPtr session_;
};

}  // namespace envwire::internal
