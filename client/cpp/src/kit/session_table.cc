#include "kit/session_table.h"

#include <algorithm>

#include "random/secrets.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kSecretBytes = 16;
constexpr std::chrono::milliseconds kSweep{250};

}  // namespace

SessionTable::SessionTable(const ServeOptions& options)
    : options_(options), sweeper_([this] {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopping_.wait_for(lock, kSweep, [this] { return stopped_; })) {
          lock.unlock();
          Sweep();
          lock.lock();
        }
      }) {}

SessionTable::~SessionTable() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stopping_.notify_all();
  sweeper_.join();
  Drain();
}

SessionPtr SessionTable::Open(const std::function<std::unique_ptr<Hosted>()>& make, double lease) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (draining_) throw Error("DRAINING", "the server stops and takes no new sessions");
    if (taken_ >= options_.max_sessions) {
      throw Error("CAPACITY_REACHED",
                  "the server holds " + std::to_string(options_.max_sessions) + " sessions already");
    }
    ++taken_;
  }
  try {
    const Seconds granted(std::min(lease > 0 ? lease : options_.default_lease, options_.max_lease));
    auto session =
        std::make_shared<Session>(Hex(RandomBytes(kSecretBytes)), RandomBytes(kSecretBytes), make(), granted,
                                  options_.max_message_bytes, [this](const Session& ended) { Forget(ended); });
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_[session->id()] = session;
    return session;
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --taken_;
    throw;
  }
}

SessionPtr SessionTable::Find(const v1::SessionHeader& header) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = sessions_.find(header.session_id());
  if (found == sessions_.end()) throw Error("UNKNOWN_SESSION", "the server has no session of this id");
  if (!SameSecret(header.secret(), found->second->secret())) {
    throw Error("WRONG_SECRET", "the secret is not the session's");
  }
  return found->second;
}

SessionPtr SessionTable::FindLive(const v1::SessionHeader& header) {
  SessionPtr session = Find(header);
  if (const char* reason = session->ended()) ThrowEnded(reason);
  return session;
}

// Called once, when the session is no more.
void SessionTable::Forget(const Session& session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --taken_;
  ended_.push_back(session.id());
  if (ended_.size() <= kRemembered) return;
  sessions_.erase(ended_.front());
  ended_.pop_front();
}

std::vector<SessionPtr> SessionTable::All() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<SessionPtr> all;
  for (const auto& [id, session] : sessions_) {
    if (session->ended() == nullptr) all.push_back(session);
  }
  return all;
}

void SessionTable::Sweep() {
  for (const SessionPtr& session : All()) {
    if (session->Expired()) session->End("SESSION_EXPIRED");
  }
}

void SessionTable::Drain() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    draining_ = true;
  }
  for (const SessionPtr& session : All()) session->End("DRAINING");
}

std::size_t SessionTable::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return taken_;
}

bool SessionTable::draining() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return draining_;
}

}  // namespace envwire::internal
