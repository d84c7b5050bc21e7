#include "kit/service.h"

#include "kit/durations.h"
#include "random/secrets.h"

namespace envwire::internal {
namespace {

constexpr char kVersion[] = "0.1.0";
constexpr std::size_t kIncarnationBytes = 8;

const v1::SessionHeader& HeaderOf(const Headed& headed) {
  if (!headed.header || headed.header->session_id().empty()) {
    throw Error("MALFORMED_REQUEST", "the request lacks its header");
  }
  return *headed.header;
}

}  // namespace

Service::Service(Registry registry, const ServeOptions& options, MainLoop* loop)
    : options_(options),
      incarnation_(Hex(RandomBytes(kIncarnationBytes))),
      sessions_(options),
      maker_(std::move(registry), options, sessions_, incarnation_, loop) {}

ReplyPtr Service::Serve(const RequestView& request, const Used& used) {
  try {
    return Answered(request, used);
  } catch (const std::exception& thrown) {
    return ErrorReply(thrown, request.kind);
  }
}

ReplyPtr Service::Answered(const RequestView& request, const Used& used) {
  switch (request.kind) {
    case Kind::kMake: return maker_.Make(request.body, used);
    case Kind::kListEnvironments: return List();
    case Kind::kGetServerInfo: return Info();
    default: break;
  }
  const Headed headed = TakeHeader(request.body);
  if (request.kind == Kind::kRenewLease) return RenewLease(sessions_.FindLive(HeaderOf(headed)));
  if (request.kind == Kind::kGetSessionStats) return Stats(sessions_.FindLive(HeaderOf(headed)));
  const SessionPtr session = sessions_.Find(HeaderOf(headed));
  used(session);
  return session->Serve({request.kind, headed.body});
}

ReplyPtr Service::List() const {
  v1::InteractResponse response;
  response.mutable_list_environments();
  for (const auto& [id, make] : maker_.registry()) {
    v1::EnvironmentListing* listing = response.mutable_list_environments()->add_environments();
    listing->set_library(kLibrary);
    listing->mutable_spec()->set_id(id);
    listing->mutable_spec()->set_order_enforce(true);
  }
  return std::make_shared<Reply>(response);
}

ReplyPtr Service::Info() {
  v1::InteractResponse response;
  v1::GetServerInfoResponse* info = response.mutable_get_server_info();
  info->set_version(kVersion);
  info->add_capabilities("interact");
  info->add_capabilities("replay");
  info->add_capabilities("save_state");
  info->add_capabilities("vector");
  if (options_.direct) {
    info->add_capabilities("direct");
    info->add_capabilities("make");
  }
  info->set_max_sessions(options_.max_sessions);
  info->set_active_sessions(static_cast<std::uint32_t>(sessions_.size()));
  info->set_incarnation(incarnation_);
  v1::LibraryInfo* library = info->add_libraries();
  library->set_name(kLibrary);
  library->set_version(kVersion);
  SetDuration(options_.default_lease, info->mutable_default_lease());
  SetDuration(options_.max_lease, info->mutable_max_lease());
  SetDuration(options_.step_timeout, info->mutable_step_timeout());
  info->set_max_message_bytes(options_.max_message_bytes);
  info->set_draining(sessions_.draining());
  info->set_cpu_count(std::thread::hardware_concurrency());
  info->set_max_envs_per_session(options_.max_envs_per_session);
  return std::make_shared<Reply>(response);
}

ReplyPtr Service::RenewLease(const SessionPtr& session) {
  session->Touch();
  v1::InteractResponse response;
  SetDuration(session->lease().count(), response.mutable_renew_lease()->mutable_lease());
  return std::make_shared<Reply>(response);
}

ReplyPtr Service::Stats(const SessionPtr& session) {
  v1::InteractResponse response;
  response.mutable_get_session_stats()->set_requests(session->requests());
  return std::make_shared<Reply>(response);
}

}  // namespace envwire::internal
