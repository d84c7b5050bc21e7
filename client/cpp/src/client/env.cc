#include "envwire/env.hpp"

#include "client/connection.h"
#include "spaces/codec.h"

namespace envwire {
namespace {

using internal::Answer;
using internal::Connection;
using internal::Kind;

Answer& ServeReset(Connection& connection, std::optional<std::int64_t> seed, const std::optional<Dict>& options) {
  v1::ResetRequest request;
  if (seed) request.mutable_seed()->set_int_value(*seed);
  if (options) internal::Encode(*options, request.mutable_options());
  return connection.driver().Serve(Kind::kReset, &request);
}

// `Result` is an observation and an info, or those of all members.
template <class Result>
Result ReadReset(Answer& answer) {
  v1::ResetResponse* reset = answer.message.mutable_reset();
  internal::FillAllowance fills;
  return {internal::Decode(reset->mutable_observation(), answer.attachments, &fills),
          internal::Decode(reset->mutable_info(), answer.attachments, &fills)};
}

Answer& ServeStep(Connection& connection, const Value& action) {
  connection.step.Clear();
  internal::Encode(action, connection.step.mutable_action());
  return connection.driver().Serve(Kind::kStep, &connection.step);
}

StepResult ReadStep(v1::StepResponse* step, const internal::Attachments& attachments, internal::FillAllowance* fills) {
  StepResult result;
  const auto read = [&](auto* value) { return internal::Decode(value, attachments, fills); };
  result.observation = read(step->mutable_observation());
  result.reward = step->reward();
  result.terminated = step->terminated();
  result.truncated = step->truncated();
  if (step->has_info()) result.info = read(step->mutable_info());
  if (step->has_typed_reward()) result.typed_reward = read(step->mutable_typed_reward());
  if (step->has_typed_terminated()) result.typed_terminated = read(step->mutable_typed_terminated());
  if (step->has_typed_truncated()) result.typed_truncated = read(step->mutable_typed_truncated());
  return result;
}

}  // namespace

RemoteBase::RemoteBase(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)),
      observation_space_(internal::Decode(connection_->made().mutable_observation_space())),
      action_space_(internal::Decode(connection_->made().mutable_action_space())),
      made_observation_space_(observation_space_),
      made_action_space_(action_space_),
      metadata_(internal::Decode(connection_->made().mutable_metadata(), {})) {}

RemoteBase::RemoteBase(RemoteBase&& other) noexcept = default;
RemoteBase& RemoteBase::operator=(RemoteBase&& other) noexcept = default;
RemoteBase::~RemoteBase() = default;

Connection& RemoteBase::connection() const {
  if (!connection_) throw Error("SESSION_CLOSED", "this environment was moved from");
  return *connection_;
}

void RemoteBase::FollowSpaces(v1::ResetResponse* reset) {
  observation_space_ =
      reset->has_observation_space() ? internal::Decode(reset->mutable_observation_space()) : made_observation_space_;
  action_space_ = reset->has_action_space() ? internal::Decode(reset->mutable_action_space()) : made_action_space_;
}

Value RemoteBase::Render() {
  v1::RenderRequest request;
  Answer& answer = connection().driver().Serve(Kind::kRender, &request);
  return internal::Decode(answer.message.mutable_render()->mutable_frame(), answer.attachments);
}

Value RemoteBase::GetAttribute(const std::string& name) {
  v1::GetAttributeRequest request;
  request.set_name(name);
  Answer& answer = connection().driver().Serve(Kind::kGetAttribute, &request);
  v1::GetAttributeResponse* found = answer.message.mutable_get_attribute();
  if (found->has_value()) return internal::Decode(found->mutable_value(), answer.attachments);
  throw Error("UNSUPPORTED", name + " is a method: use Call");
}

void RemoteBase::SetAttribute(const std::string& name, const Value& value) {
  v1::SetAttributeRequest request;
  request.set_name(name);
  internal::Encode(value, request.mutable_value());
  connection().driver().Serve(Kind::kSetAttribute, &request);
}

Value RemoteBase::Call(const std::string& name, const std::vector<Value>& args, const Dict& kwargs) {
  v1::CallMethodRequest request;
  request.set_name(name);
  for (const Value& each : args) internal::Encode(each, request.mutable_args()->add_values());
  if (!kwargs.empty()) internal::Encode(kwargs, request.mutable_kwargs());
  Answer& answer = connection().driver().Serve(Kind::kCallMethod, &request);
  return internal::Decode(answer.message.mutable_call_method()->mutable_result(), answer.attachments);
}

void RemoteBase::Close() {
  if (connection_) connection_->Close();
}

int RemoteBase::resumed() const { return connection().driver().session().resumed(); }
std::string RemoteBase::transport() const { return connection().driver().transport().name(); }
const v1::MakeResponse& RemoteBase::made() const { return connection().made(); }

Env Env::Make(const std::string& target, const std::string& id, const MakeOptions& options,
              const ConnectOptions& connect) {
  return Env(Connection::Open(target, internal::RequestFor(id, options), connect));
}

ResetResult Env::Reset(std::optional<std::int64_t> seed, const std::optional<Dict>& options) {
  Answer& answer = ServeReset(connection(), seed, options);
  FollowSpaces(answer.message.mutable_reset());
  return ReadReset<ResetResult>(answer);
}

StepResult Env::Step(const Value& action) {
  Answer& answer = ServeStep(connection(), action);
  internal::FillAllowance fills;
  return ReadStep(answer.message.mutable_step(), answer.attachments, &fills);
}

ChunkResult Env::StepMany(const std::vector<Value>& actions) {
  if (actions.empty()) return {};  // on the wire this would be a step without an action
  v1::StepRequest request;
  for (const Value& each : actions) internal::Encode(each, request.add_actions());
  Answer& answer = connection().driver().Serve(Kind::kStep, &request);
  v1::StepResponse* chunk = answer.message.mutable_step();
  ChunkResult result;
  internal::FillAllowance fills;
  for (v1::StepResponse& step : *chunk->mutable_steps()) {
    result.steps.push_back(ReadStep(&step, answer.attachments, &fills));
  }
  if (chunk->has_error()) result.error = internal::ErrorFrom(chunk->error());
  return result;
}

VectorEnv VectorEnv::Make(const std::string& target, const std::string& id, std::uint32_t num_envs,
                          const VectorOptions& options, const ConnectOptions& connect) {
  v1::MakeRequest request = internal::RequestFor(id, options);
  request.mutable_vector()->set_num_envs(num_envs);
  request.mutable_vector()->set_vectorization_mode(options.vectorization_mode);
  request.mutable_vector()->set_autoreset_mode(options.autoreset_mode);
  VectorEnv env(Connection::Open(target, std::move(request), connect));
  if (!env.made().has_vector()) throw Error("UNSUPPORTED", target + " makes no vector environments");
  return env;
}

std::uint32_t VectorEnv::num_envs() const { return made().vector().num_envs(); }

VectorReset VectorEnv::Reset(std::optional<std::int64_t> seed, const std::optional<Dict>& options) {
  return ReadReset<VectorReset>(ServeReset(connection(), seed, options));
}

VectorStep VectorEnv::Step(const Value& actions) {
  Answer& answer = ServeStep(connection(), actions);
  v1::StepResponse* step = answer.message.mutable_step();
  internal::FillAllowance fills;
  return {internal::Decode(step->mutable_observation(), answer.attachments, &fills),
          internal::DecodeArray(step->mutable_typed_reward(), answer.attachments, &fills),
          internal::DecodeArray(step->mutable_typed_terminated(), answer.attachments, &fills),
          internal::DecodeArray(step->mutable_typed_truncated(), answer.attachments, &fills),
          internal::Decode(step->mutable_info(), answer.attachments, &fills)};
}

}  // namespace envwire
