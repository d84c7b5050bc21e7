#include "kit/hosting/hosted_env.h"

#include <google/protobuf/io/coded_stream.h>

#include "kit/faults.h"
#include "kit/hosting/actions.h"
#include "kit/hosting/results.h"
#include "kit/request_fields.h"
#include "spaces/codec.h"
#include "values/checks.h"

namespace envwire::internal {
namespace {

// Actions that one request may hold.
constexpr int kMostActions = 1024;
constexpr std::size_t kMostSaved = 1000;
constexpr std::size_t kMostSavedBytes = std::size_t{256} << 20U;

bool IsGenerator(const std::string& name) { return name == "np_random" || name == "_np_random"; }

[[noreturn]] void Missing(const std::string& name) {
  Error missing("ATTRIBUTE_MISSING", "the environment has no attribute \"" + name + "\" that clients may reach");
  missing.metadata["name"] = name;
  throw missing;
}

}  // namespace

HostedEnv::HostedEnv(std::unique_ptr<Environment> env, const std::optional<std::string>& render_mode)
    : env_(std::move(env)) {
  noted_.Set("render_mode", render_mode ? Value(*render_mode) : Value(None{}));
}

void HostedEnv::Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) {
  switch (kind) {
    case Kind::kReset: return Reset(body, answer->mutable_reset());
    case Kind::kStep: return Step(body, answer->mutable_step());
    case Kind::kRender: return EncodeShown(env_->Render(), "the frame", answer->mutable_render()->mutable_frame());
    case Kind::kGetAttribute: return GetAttribute(body, answer->mutable_get_attribute());
    case Kind::kSetAttribute: return SetAttribute(body, answer->mutable_set_attribute());
    case Kind::kCallMethod: return CallMethod(body, answer->mutable_call_method());
    case Kind::kSaveState: return answer->mutable_save_state()->set_state(SaveState());
    case Kind::kRestoreState:
      answer->mutable_restore_state();
      return RestoreState(Parsed<v1::RestoreStateRequest>(body).state());
    case Kind::kClose: answer->mutable_close(); return Close();
    default: throw Error("UNSUPPORTED", "this server does not have this request");
  }
}

template <class Answer>
void HostedEnv::AddWarnings(Answer* answer) {
  for (const auto& [category, text] : env_->TakeWarnings()) {
    v1::Warning* warning = answer->add_warnings();
    warning->set_category(category);
    warning->set_text(text);
  }
}

void HostedEnv::Reset(std::string_view body, v1::ResetResponse* answer) {
  auto request = Parsed<v1::ResetRequest>(body);
  if (request.has_np_random()) random_.Restore(request.np_random());
  if (request.has_seed()) {
    random_.Seed(DecodeSent(request.mutable_seed()));
  } else {
    random_.Create();
  }
  std::optional<Dict> options;
  if (request.has_options()) options = DecodeSent(request.mutable_options());
  const ResetResult result = env_->Reset({random_.generator(), options});
  started_ = true;
  EncodeReset(result, answer);
  if (request.mirror_np_random()) random_.Mirror(answer->mutable_random());
  AddWarnings(answer);
}

void HostedEnv::Step(std::string_view body, v1::StepResponse* answer) {
  if (!step_.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    throw Error("INVALID_VALUE", "the request cannot be read");
  }
  if (step_.has_np_random()) random_.Restore(step_.np_random());
  if (step_.actions_size() > 0) {
    Chunk(answer);
  } else {
    if (!step_.has_action()) throw Error("INVALID_VALUE", "a step has an action");
    TakeStep(step_.mutable_action(), answer);
  }
  if (step_.mirror_np_random()) random_.Mirror(answer->mutable_random());
}

// Takes one step after another, until the episode ends or one fails. When the first fails, that is the answer.
void HostedEnv::Chunk(v1::StepResponse* answer) {
  if (step_.has_action() || step_.actions_size() > kMostActions) {
    throw Error("INVALID_VALUE", "a step has one action, or a chunk of at most " + std::to_string(kMostActions));
  }
  for (v1::Value& action : *step_.mutable_actions()) {
    v1::StepResponse* step = answer->add_steps();
    try {
      TakeStep(&action, step);
    } catch (const std::exception& thrown) {
      answer->mutable_steps()->RemoveLast();
      if (answer->steps_size() == 0) throw;
      *answer->mutable_error() = StatusOf(thrown, Kind::kStep);
      return;
    }
    if (step->terminated() || step->truncated()) return;
  }
}

void HostedEnv::TakeStep(v1::Value* action, v1::StepResponse* answer) {
  EncodeStep(Taken(DecodeSent(action)), answer);
  AddWarnings(answer);
}

// Takes a step, if the environment is ready for it and the action is one of its actions.
StepResult HostedEnv::Taken(const Value& action) {
  if (!started_ && !env_->lenient()) throw Error("RESET_NEEDED", "call reset before the first step");
  if (!env_->lenient()) CheckAction(env_->action_space(), action);
  try {
    return env_->Step(action);
  } catch (const std::exception&) {
    if (env_->lenient()) CheckAction(env_->action_space(), action);
    throw;
  }
}

void HostedEnv::GetAttribute(std::string_view body, v1::GetAttributeResponse* answer) {
  const auto request = Parsed<v1::GetAttributeRequest>(body);
  const std::string& name = request.name();
  const auto attribute = env_->attributes().find(name);
  const bool callable = env_->methods().count(name) != 0;
  const bool generator = IsGenerator(name);
  const bool own = attribute != env_->attributes().end();
  const Value* noted = noted_.Find(name);
  answer->set_exists(generator || callable || own || noted != nullptr);
  if (request.probe()) return;
  if (!answer->exists()) Missing(name);
  if (generator) {
    if (name == "np_random") random_.Create();
    random_.Mirror(answer->mutable_random());
  } else if (callable) {
    answer->set_callable(true);
  } else {
    Encode(own ? attribute->second.get() : *noted, answer->mutable_value());
  }
}

void HostedEnv::SetAttribute(std::string_view body, v1::SetAttributeResponse* answer) {
  auto request = Parsed<v1::SetAttributeRequest>(body);
  const Value value = DecodeSent(request.mutable_value());
  const auto attribute = env_->attributes().find(request.name());
  if (attribute != env_->attributes().end()) {
    if (!attribute->second.set) return;
    attribute->second.set(value);
  } else {
    const bool taken = IsGenerator(request.name()) || env_->methods().count(request.name()) != 0;
    if (taken || (!request.force() && noted_.Find(request.name()) == nullptr)) return;
    noted_.Set(request.name(), value);
  }
  answer->set_set(true);
}

void HostedEnv::CallMethod(std::string_view body, v1::CallMethodResponse* answer) {
  auto request = Parsed<v1::CallMethodRequest>(body);
  const auto method = env_->methods().find(request.name());
  if (method == env_->methods().end()) Missing(request.name());
  v1::Value args;
  args.mutable_tuple()->Swap(request.mutable_args());
  Encode(method->second(DecodeSent(&args).tuple(), DecodeSent(request.mutable_kwargs())), answer->mutable_result());
  AddWarnings(answer);
}

std::uint64_t HostedEnv::SaveState() {
  std::optional<Value> state = env_->SaveState();
  if (!state) throw Error("UNSUPPORTED", "this environment does not offer its state");
  const std::size_t bytes = EncodeValue(*state).size();
  saved_.push_back({++saves_, *std::move(state), random_.generator().state(), bytes});
  saved_bytes_ += bytes;
  while (saved_.size() > kMostSaved || (saved_bytes_ > kMostSavedBytes && saved_.size() > 1)) {
    saved_bytes_ -= saved_.front().bytes;
    saved_.pop_front();
  }
  return saves_;
}

void HostedEnv::RestoreState(std::uint64_t number) {
  if (saved_.empty() || number < saved_.front().number || number > saves_) {
    throw Error("INVALID_VALUE", "the session keeps no state " + std::to_string(number));
  }
  const Saved& saved = saved_[number - saved_.front().number];
  env_->RestoreState(saved.state);
  random_.generator().set_state(saved.random);
  started_ = true;
}

void HostedEnv::Close() {
  if (!std::exchange(closed_, true)) env_->Close();
}

void HostedEnv::Describe(v1::MakeResponse* made) {
  Encode(env_->observation_space(), made->mutable_observation_space());
  Encode(env_->action_space(), made->mutable_action_space());
  Encode(env_->metadata(), made->mutable_metadata());
  made->add_capabilities("chunk");
  made->add_capabilities("replay");
  if (env_->SaveState()) made->add_capabilities("save_state");
}

}  // namespace envwire::internal
