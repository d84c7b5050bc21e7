#include "kit/hosting/hosted_vector.h"

#include <limits>
#include <map>

#include "kit/hosting/actions.h"
#include "kit/hosting/infos.h"
#include "kit/hosting/results.h"
#include "kit/request_fields.h"
#include "spaces/batching.h"
#include "spaces/codec.h"
#include "values/checks.h"
#include "values/elements.h"

namespace envwire::internal {
namespace {

constexpr char kMask[] = "reset_mask";

// One number of each result.
template <class Number>
void EncodeColumn(DType dtype, const std::vector<StepResult>& results, Number StepResult::*field, v1::Value* message) {
  std::string bytes;
  for (const StepResult& each : results) AppendElement(&bytes, dtype, each.*field);
  Encode(NdArray(dtype, {results.size()}, std::move(bytes)), message);
}

// Removes the mask of members to reset from the options and returns it; absent if there is none.
std::optional<NdArray> TakeMask(std::optional<Dict>* options, std::size_t count) {
  const Value* mask = *options ? (*options)->Find(kMask) : nullptr;
  if (mask == nullptr) return std::nullopt;
  const auto* array = mask->If<NdArray>();
  if (array == nullptr || array->dtype() != DType::kBool || array->size() != count) {
    throw Error("INVALID_VALUE", "reset_mask is a bool array with one element for each environment");
  }
  NdArray taken = *array;
  Dict others;
  for (const auto& [key, value] : (*options)->entries()) {
    if (&value != mask) others.Add(key, value);
  }
  *options = std::move(others);
  return taken;
}

// Member i gets the seed + i, or the seed at i of a list.
std::optional<Value> SeedOf(const Value& seed, std::size_t member, std::size_t count) {
  if (seed.Is<None>()) return std::nullopt;
  const auto* each = seed.If<List>();
  if (each == nullptr) return SeedAfter(seed, static_cast<std::uint32_t>(member));
  if (each->values.size() != count)
    throw Error("INVALID_VALUE", "there is a seed for each environment, or one for all");
  if (each->values[member].Is<None>()) return std::nullopt;
  return each->values[member];
}

}  // namespace

HostedVector::Autoreset HostedVector::ModeOf(const std::string& name) {
  static const std::map<std::string, Autoreset> kModes = {
      {"NEXT_STEP", Autoreset::kNextStep}, {"SAME_STEP", Autoreset::kSameStep}, {"DISABLED", Autoreset::kDisabled}};
  const auto mode = kModes.find(name);
  if (mode == kModes.end()) throw Error("INVALID_VALUE", "there is no autoreset mode " + name);
  return mode->second;
}

HostedVector::HostedVector(const v1::VectorRequest& request, const std::function<std::unique_ptr<Environment>()>& make)
    : mode_name_(request.autoreset_mode().empty() ? "NEXT_STEP" : request.autoreset_mode()),
      report_resets_(request.report_member_resets()) {
  mode_ = ModeOf(mode_name_);
  if (request.num_envs() < 1) throw Error("INVALID_VALUE", "a vector environment has one member at least");
  if (!request.vectorization_mode().empty() && request.vectorization_mode() != "sync") {
    throw Error("UNSUPPORTED", "this server steps members one after another, not by " + request.vectorization_mode());
  }
  members_.resize(request.num_envs());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].env = make();
    members_[i].index = static_cast<std::uint32_t>(i);
  }
  const Environment& first = *members_.front().env;
  observation_space_ = BatchSpace(first.observation_space(), members_.size());
  action_space_ = BatchSpace(first.action_space(), members_.size());
}

void HostedVector::Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) {
  resets_.clear();
  switch (kind) {
    case Kind::kReset: return Reset(body, answer->mutable_reset());
    case Kind::kStep: return Step(body, answer->mutable_step());
    case Kind::kGetAttribute: return GetAttribute(body, answer->mutable_get_attribute());
    case Kind::kSetAttribute: return SetAttribute(body, answer->mutable_set_attribute());
    case Kind::kCallMethod: return CallMethod(body, answer->mutable_call_method());
    case Kind::kRender: {
      Tuple frames;
      for (Member& member : members_) frames.values.push_back(member.env->Render());
      return EncodeShown(frames, "the frame", answer->mutable_render()->mutable_frame());
    }
    case Kind::kClose: answer->mutable_close(); return Close();
    default: throw Error("UNSUPPORTED", "vector environments of this server do not have this request");
  }
}

Dict HostedVector::ResetMember(Member& member, const std::optional<Value>& seed, const std::optional<Dict>& options) {
  if (seed) {
    member.random.Seed(*seed);
  } else if (report_resets_) {
    v1::RandomMirror before;
    member.random.Mirror(&before);
    v1::MemberReset& told = resets_.emplace_back();
    told.set_member(member.index);
    if (before.has_np_random()) *told.mutable_np_random() = before.np_random();
  }
  member.random.Create();
  ResetResult result = member.env->Reset({member.random.generator(), options});
  member.observation = std::move(result.observation);
  member.ended = false;
  return std::move(result.info);
}

void HostedVector::Reset(std::string_view body, v1::ResetResponse* answer) {
  auto request = Parsed<v1::ResetRequest>(body);
  const std::vector<MemberReset> resets = ResetsOf(&request);
  std::vector<Dict> infos(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!resets[i].passed_over) infos[i] = ResetMember(members_[i], resets[i].seed, resets[i].options);
  }
  started_ = true;
  EncodeReset({Observations(), BatchInfos(infos)}, answer);
  for (const v1::MemberReset& told : resets_) *answer->add_member_resets() = told;
}

std::vector<HostedVector::MemberReset> HostedVector::ResetsOf(v1::ResetRequest* request) const {
  const std::size_t count = members_.size();
  const Value seed = request->has_seed() ? DecodeSent(request->mutable_seed()) : Value();
  std::optional<Dict> common;
  if (request->has_options()) common = DecodeSent(request->mutable_options());
  const std::optional<NdArray> mask = TakeMask(&common, count);
  std::vector<MemberReset> resets(count);
  for (std::size_t i = 0; i < count; ++i) {
    resets[i].seed = SeedOf(seed, i, count);
    resets[i].options = common;
    const int own = static_cast<int>(i);
    if (own < request->member_options_size()) resets[i].options = DecodeSent(request->mutable_member_options(own));
    const Part part = members_[i].part;
    resets[i].passed_over = part == Part::kLeftOut || (part == Part::kWhole && mask && mask->Number(i) == 0);
  }
  return resets;
}

void HostedVector::Step(std::string_view body, v1::StepResponse* answer) {
  auto request = Parsed<v1::StepRequest>(body);
  if (!request.has_action() || request.actions_size() > 0) {
    throw Error("INVALID_VALUE", "a vector takes one batch of actions");
  }
  const Value actions = DecodeSent(request.mutable_action());
  if (!started_) throw Error("RESET_NEEDED", "call reset before the first step");
  CheckAction(action_space_, actions);
  const std::vector<Value> each = Unbatch(members_.front().env->action_space(), actions, members_.size());
  std::vector<StepResult> results;
  std::vector<Dict> infos;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    results.push_back(StepMember(members_[i], each[i]));
    infos.push_back(std::move(results.back().info));
  }
  EncodeShown(Observations(), "the observation", answer->mutable_observation());
  answer->set_reward(std::numeric_limits<double>::quiet_NaN());
  EncodeColumn(DType::kFloat64, results, &StepResult::reward, answer->mutable_typed_reward());
  EncodeColumn(DType::kBool, results, &StepResult::terminated, answer->mutable_typed_terminated());
  EncodeColumn(DType::kBool, results, &StepResult::truncated, answer->mutable_typed_truncated());
  Encode(BatchInfos(infos), answer->mutable_info());
  for (const v1::MemberReset& told : resets_) *answer->add_member_resets() = told;
}

StepResult HostedVector::StepMember(Member& member, const Value& action) {
  if (member.part == Part::kLeftOut) return {};
  if (member.part == Part::kBeginning || (member.ended && mode_ == Autoreset::kNextStep)) {
    return {Value(), 0, false, false, ResetMember(member, std::nullopt, std::nullopt)};
  }
  if (member.ended) throw Error("RESET_NEEDED", "a member whose episode ended has to be reset first");
  StepResult result = member.env->Step(action);
  member.observation = result.observation;
  member.ended = result.done();
  return member.ended && mode_ == Autoreset::kSameStep ? ResetAtOnce(member, std::move(result)) : result;
}

StepResult HostedVector::ResetAtOnce(Member& member, StepResult ended) {
  Dict info = ResetMember(member, std::nullopt, std::nullopt);
  info.Add("final_obs", std::move(ended.observation));
  info.Add("final_info", std::move(ended.info));
  ended.info = std::move(info);
  return ended;
}

Value HostedVector::Observations() const {
  std::vector<const Value*> observations;
  for (const Member& member : members_) observations.push_back(&member.observation);
  return Batch(members_.front().env->observation_space(), observations);
}

std::vector<HostedVector::Member*> HostedVector::Named(const google::protobuf::RepeatedField<std::uint32_t>& indices) {
  std::vector<Member*> named;
  for (const std::uint32_t index : indices) {
    if (index >= members_.size()) throw Error("INVALID_VALUE", "there is no member " + std::to_string(index));
    named.push_back(&members_[index]);
  }
  if (named.empty()) {
    for (Member& member : members_) named.push_back(&member);
  }
  return named;
}

void HostedVector::GetAttribute(std::string_view body, v1::GetAttributeResponse* answer) {
  const auto request = Parsed<v1::GetAttributeRequest>(body);
  const Environment& first = *members_.front().env;
  const std::string& name = request.name();
  const bool generator = name == "np_random";
  const bool callable = first.methods().count(name) != 0;
  answer->set_exists(generator || callable || first.attributes().count(name) != 0);
  if (request.probe()) return;
  if (!answer->exists()) throw Error("ATTRIBUTE_MISSING", "the environments have no attribute \"" + name + "\"");
  Tuple values;
  for (Member* member : Named(request.members())) {
    if (generator) {
      member->random.Create();
      member->random.Mirror(answer->add_member_random());
    } else if (!callable) {
      values.values.push_back(member->env->attributes().at(name).get());
    }
  }
  if (callable) answer->set_callable(true);
  if (!generator && !callable) Encode(values, answer->mutable_value());
}

// One value for all, or a list or tuple with one for each.
void HostedVector::SetAttribute(std::string_view body, v1::SetAttributeResponse* answer) {
  auto request = Parsed<v1::SetAttributeRequest>(body);
  const Value value = DecodeSent(request.mutable_value());
  const std::vector<Member*> members = Named(request.members());
  std::vector<Value> each(members.size(), value);
  if (const auto* own = ElementsOf(value)) each = *own;
  if (each.size() != members.size()) throw Error("INVALID_VALUE", "there is a value for each member, or one for all");
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto attribute = members[i]->env->attributes().find(request.name());
    if (attribute == members[i]->env->attributes().end() || !attribute->second.set) return;
    attribute->second.set(each[i]);
  }
  answer->set_set(true);
}

void HostedVector::CallMethod(std::string_view body, v1::CallMethodResponse* answer) {
  auto request = Parsed<v1::CallMethodRequest>(body);
  std::vector<Value> args;
  for (v1::Value& each : *request.mutable_args()->mutable_values()) args.push_back(DecodeSent(&each));
  const Dict kwargs = DecodeSent(request.mutable_kwargs());
  Tuple results;
  for (Member* member : Named(request.members())) {
    const auto method = member->env->methods().find(request.name());
    if (method == member->env->methods().end()) {
      throw Error("ATTRIBUTE_MISSING", "the environments have no method \"" + request.name() + "\"");
    }
    results.values.push_back(method->second(args, kwargs));
  }
  Encode(results, answer->mutable_result());
}

void HostedVector::TakePart(const MemberStarts& starts, std::uint64_t position) {
  for (Member& member : members_) member.part = Part::kWhole;
  for (const auto& [index, start] : starts) {
    if (index >= members_.size()) throw Error("INVALID_VALUE", "there is no member " + std::to_string(index));
    if (start.position() > position && !started_) {
      throw Error("INVALID_VALUE", "a member is left out before any reset; reset all members first");
    }
    if (start.position() == position && start.has_np_random()) members_[index].random.Restore(start.np_random());
  }
  for (const auto& [index, start] : starts) {
    if (start.position() > position) members_[index].part = Part::kLeftOut;
    if (start.position() == position) members_[index].part = Part::kBeginning;
  }
}

void HostedVector::Close() {
  if (std::exchange(closed_, true)) return;
  for (Member& member : members_) member.env->Close();
}

void HostedVector::Describe(v1::MakeResponse* made) {
  const Environment& first = *members_.front().env;
  Encode(observation_space_, made->mutable_observation_space());
  Encode(action_space_, made->mutable_action_space());
  Encode(first.metadata(), made->mutable_metadata());
  v1::VectorInfo* vector = made->mutable_vector();
  vector->set_num_envs(static_cast<std::uint32_t>(members_.size()));
  Encode(first.observation_space(), vector->mutable_single_observation_space());
  Encode(first.action_space(), vector->mutable_single_action_space());
  vector->set_autoreset_mode(mode_name_);
  made->add_capabilities("replay");
}

}  // namespace envwire::internal
