#include "kit/hosting/results.h"

#include "values/checks.h"
#include "values/codec.h"

namespace envwire::internal {
namespace {

void EncodeTyped(const std::optional<Value>& typed, v1::StepResponse* answer, v1::Value* (v1::StepResponse::*field)()) {
  if (typed) Encode(*typed, (answer->*field)());
}

}  // namespace

void EncodeShown(const Value& value, const char* what, v1::Value* message) {
  if (HoldsOpaque(value)) throw Error("UNSUPPORTED", std::string(what) + " holds what cannot be sent");
  Encode(value, message);
}

void EncodeReset(const ResetResult& result, v1::ResetResponse* answer) {
  EncodeShown(result.observation, "the observation", answer->mutable_observation());
  Encode(result.info, answer->mutable_info());
}

void EncodeStep(const StepResult& result, v1::StepResponse* answer) {
  EncodeShown(result.observation, "the observation", answer->mutable_observation());
  answer->set_reward(result.reward);
  answer->set_terminated(result.terminated);
  answer->set_truncated(result.truncated);
  Encode(result.info, answer->mutable_info());
  EncodeTyped(result.typed_reward, answer, &v1::StepResponse::mutable_typed_reward);
  EncodeTyped(result.typed_terminated, answer, &v1::StepResponse::mutable_typed_terminated);
  EncodeTyped(result.typed_truncated, answer, &v1::StepResponse::mutable_typed_truncated);
}

}  // namespace envwire::internal
