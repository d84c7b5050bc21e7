// The sessions of a server: made up to a limit, found by their headers, ended when their leases run out.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "envwire/kit.hpp"
#include "kit/session.h"

namespace envwire::internal {

class SessionTable {
 public:
  explicit SessionTable(const ServeOptions& options);
  ~SessionTable();
  SessionTable(const SessionTable&) = delete;
  SessionTable& operator=(const SessionTable&) = delete;

  // Makes a session in a free slot. `lease` in seconds; 0 or less for the default.
  SessionPtr Open(const std::function<std::unique_ptr<Hosted>()>& make, double lease);
  // Finds a session, live or ended, whose secret the client knows.
  SessionPtr Find(const v1::SessionHeader& header);
  // Finds a session that is live.
  SessionPtr FindLive(const v1::SessionHeader& header);
  // Ends all sessions, and makes no more.
  void Drain();
  std::size_t size();
  bool draining();

 private:
  void Sweep();
  void Forget(const Session& session);
  // The live ones.
  std::vector<SessionPtr> All();

  const ServeOptions& options_;
  std::mutex mutex_;
  std::map<std::string, SessionPtr> sessions_;
  std::deque<std::string> ended_;  // the oldest first; they are remembered, so that their clients learn why
  std::size_t taken_ = 0;          // slots: of live sessions, and of those that are being made
  bool draining_ = false;
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::thread sweeper_;
};

}  // namespace envwire::internal
