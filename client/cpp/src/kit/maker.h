// Make: creates a session from a request, and its answer.
#pragma once

#include <future>

#include "kit/main_loop.h"
#include "kit/session_table.h"

namespace envwire::internal {

// Name of the library under which environments are listed.
inline constexpr char kLibrary[] = "envwire";

// Called with the session that a request uses, before it is served.
using Used = std::function<void(const SessionPtr&)>;

class Maker {
 public:
  // `loop` calls the environments; where it is null, the threads of their clients do.
  Maker(Registry registry, const ServeOptions& options, SessionTable& sessions, std::string incarnation,
        MainLoop* loop);

  // Makes a session, or joins the Make that the same client asked for before.
  ReplyPtr Make(std::string_view body, const Used& used);

  const Registry& registry() const { return registry_; }
  // Addresses of the direct channel, once it listens.
  std::vector<std::string> direct_addresses;

 private:
  struct Made {
    SessionPtr session;
    ReplyPtr reply;
  };
  // A Make that can be repeated, until its session serves a request or ends.
  struct Kept {
    std::string body;
    std::shared_future<Made> made;
  };

  Made NewOrKept(std::string_view body);
  Made New(std::string_view body);
  std::unique_ptr<Hosted> HostedFor(const v1::MakeRequest& request);
  std::unique_ptr<Hosted> HostedHere(const v1::MakeRequest& request);
  std::unique_ptr<Environment> EnvironmentFor(const std::string& id, const MakeContext& context);
  void Check(const v1::MakeRequest& request) const;
  void Show(const v1::MakeRequest& request, const Session& session, v1::MakeResponse* made);
  void ForgetServed();

  const Registry registry_;
  const ServeOptions& options_;
  SessionTable& sessions_;
  const std::string incarnation_;
  MainLoop* const loop_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

}  // namespace envwire::internal
