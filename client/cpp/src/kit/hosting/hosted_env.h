// One environment, with the requests that clients can send to it.
#pragma once

#include <deque>

#include "envwire/kit.hpp"
#include "kit/hosting/hosted.h"
#include "kit/hosting/noted_attributes.h"
#include "kit/hosting/np_random.h"

namespace envwire::internal {

class HostedEnv : public Hosted {
 public:
  HostedEnv(std::unique_ptr<Environment> env, const std::optional<std::string>& render_mode);

  void Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) override;
  void Close() override;
  void Describe(v1::MakeResponse* made) override;

 private:
  // A saved state: the environment's own state, and its generator's.
  struct Saved {
    std::uint64_t number;
    Value state;
    Pcg64State random;
    std::size_t bytes;
  };

  void Reset(std::string_view body, v1::ResetResponse* answer);
  void Step(std::string_view body, v1::StepResponse* answer);
  void Chunk(v1::StepResponse* answer);
  void TakeStep(v1::Value* action, v1::StepResponse* answer);
  StepResult Taken(const Value& action);
  void GetAttribute(std::string_view body, v1::GetAttributeResponse* answer);
  void SetAttribute(std::string_view body, v1::SetAttributeResponse* answer);
  void CallMethod(std::string_view body, v1::CallMethodResponse* answer);
  std::uint64_t SaveState();
  void RestoreState(std::uint64_t number);
  template <class Answer>
  void AddWarnings(Answer* answer);

  std::unique_ptr<Environment> env_;
  NotedAttributes noted_;
  NpRandom random_;
  bool started_ = false;
  bool closed_ = false;
  v1::StepRequest step_;  // reused for every step, together with its memory
  std::deque<Saved> saved_;
  std::uint64_t saves_ = 0;
  std::size_t saved_bytes_ = 0;
};

}  // namespace envwire::internal
