#include "kit/maker.h"

#include <cmath>

#include "kit/durations.h"
#include "kit/hosting/hosted_env.h"
#include "kit/hosting/hosted_in_loop.h"
#include "kit/hosting/hosted_vector.h"
#include "kit/request_fields.h"
#include "values/checks.h"

namespace envwire::internal {
namespace {

// Maximum number of stored Makes; larger than the number of sessions that wait for their first request.
constexpr std::size_t kMostKept = 4096;

template <class Made>
bool Ready(const std::shared_future<Made>& made) {
  return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool Offers(const Dict& metadata, const std::string& mode) {
  const Value* modes = metadata.Find("render_modes");
  const auto* list = modes == nullptr ? nullptr : modes->If<List>();
  if (list == nullptr) return false;
  return std::any_of(list->values.begin(), list->values.end(), [&](const Value& each) {
    const auto* name = each.If<std::string>();
    return name != nullptr && *name == mode;
  });
}

}  // namespace

Maker::Maker(Registry registry, const ServeOptions& options, SessionTable& sessions, std::string incarnation,
             MainLoop* loop)
    : registry_(std::move(registry)),
      options_(options),
      sessions_(sessions),
      incarnation_(std::move(incarnation)),
      loop_(loop) {}

ReplyPtr Maker::Make(std::string_view body, const Used& used) {
  const Made made = NewOrKept(body);
  used(made.session);
  return made.reply;
}

Maker::Made Maker::NewOrKept(std::string_view body) {
  const std::string id = Parsed<v1::MakeRequest>(body, "MALFORMED_REQUEST").request_id();
  if (id.empty()) return New(body);
  std::promise<Made> promise;
  std::shared_future<Made> earlier;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ForgetServed();
    const auto [kept, ours] = kept_.try_emplace(id, Kept{std::string(body), promise.get_future().share()});
    if (kept->second.body != body) throw Error("REQUEST_ID_REUSED", "the request id belongs to another Make");
    if (!ours) earlier = kept->second.made;
  }
  if (earlier.valid()) return earlier.get();
  try {
    Made made = New(body);
    promise.set_value(made);
    return made;
  } catch (...) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      kept_.erase(id);  // before it has failed, because other threads inspect stored Makes that are complete
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

// Forgets the makes whose answers have arrived.
void Maker::ForgetServed() {
  for (auto each = kept_.begin(); each != kept_.end();) {
    const std::shared_future<Made>& made = each->second.made;
    const bool served = Ready(made) && (made.get().session->requests() > 0 || made.get().session->ended() != nullptr);
    each = served || kept_.size() > kMostKept ? kept_.erase(each) : std::next(each);
  }
}

Maker::Made Maker::New(std::string_view body) {
  const auto request = Parsed<v1::MakeRequest>(body, "MALFORMED_REQUEST");
  Check(request);
  v1::InteractResponse response;
  const auto host = [&] {
    std::unique_ptr<Hosted> hosted = HostedFor(request);
    hosted->Describe(response.mutable_make());
    return hosted;
  };
  const SessionPtr session = sessions_.Open(host, ToSeconds(request.lease()).count());
  Show(request, *session, response.mutable_make());
  return {session, std::make_shared<Reply>(response)};
}

// Refuses features that this kit does not have.
void Maker::Check(const v1::MakeRequest& request) const {
  if (request.has_copy_of()) throw Error("UNSUPPORTED", "this server makes no copies");
  if (registry_.count(request.env_id()) == 0 || (!request.library().empty() && request.library() != kLibrary)) {
    throw Error("UNKNOWN_ENVIRONMENT", "the server makes no environment " + request.library() + ":" + request.env_id());
  }
  if (request.wrappers_size() > 0) {
    throw Error("WRAPPER_NOT_ALLOWED", "this server has no wrapper " + request.wrappers(0).name());
  }
}

std::unique_ptr<Hosted> Maker::HostedFor(const v1::MakeRequest& request) {
  if (loop_ == nullptr) return HostedHere(request);
  std::unique_ptr<Hosted> hosted;
  loop_->Run([&] { hosted = HostedHere(request); });
  return std::make_unique<HostedInLoop>(std::move(hosted), *loop_);
}

std::unique_ptr<Hosted> Maker::HostedHere(const v1::MakeRequest& request) {
  MakeContext context;
  if (request.has_render_mode()) context.render_mode = request.render_mode();
  v1::ValueMap kwargs = request.kwargs();  // decoding takes texts and elements out of a message
  context.kwargs = DecodeSent(&kwargs);
  const auto make = [&] { return EnvironmentFor(request.env_id(), context); };
  if (!request.has_vector()) return std::make_unique<HostedEnv>(make(), context.render_mode);
  if (request.vector().member_kwargs_size() > 0 || request.vector().observation_mode() == "different") {
    throw Error("UNSUPPORTED", "this server makes vector environments of equal members only");
  }
  if (request.vector().num_envs() > options_.max_envs_per_session) {
    throw Error("CAPACITY_REACHED",
                "a session has at most " + std::to_string(options_.max_envs_per_session) + " environments");
  }
  return std::make_unique<HostedVector>(request.vector(), make);
}

std::unique_ptr<Environment> Maker::EnvironmentFor(const std::string& id, const MakeContext& context) {
  std::unique_ptr<Environment> env = registry_.at(id)(context);
  if (context.render_mode && !Offers(env->metadata(), *context.render_mode)) {
    throw Error("INVALID_VALUE", id + " has no render mode \"" + *context.render_mode + "\"");
  }
  return env;
}

void Maker::Show(const v1::MakeRequest& request, const Session& session, v1::MakeResponse* made) {
  made->set_session_id(session.id());
  made->set_secret(session.secret());
  made->set_library(kLibrary);
  if (request.has_render_mode()) made->set_render_mode(request.render_mode());
  Encode(Tuple{{-HUGE_VAL, HUGE_VAL}}, made->mutable_reward_range());
  made->mutable_spec()->set_id(request.env_id());
  made->mutable_spec()->set_order_enforce(true);
  if (request.has_kwargs()) *made->mutable_spec()->mutable_kwargs() = request.kwargs();
  SetDuration(session.lease().count(), made->mutable_lease());
  SetDuration(options_.step_timeout, made->mutable_step_timeout());
  made->set_description("<" + request.env_id() + ">");
  made->set_incarnation(incarnation_);
  for (const std::string& address : direct_addresses) made->mutable_direct()->add_addresses(address);
}

}  // namespace envwire::internal
