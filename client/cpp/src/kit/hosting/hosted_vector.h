// Several environments that step together in one session, one after another, as Gymnasium's SyncVectorEnv.
#pragma once

#include <functional>
#include <vector>

#include "envwire/kit.hpp"
#include "kit/hosting/hosted.h"
#include "kit/hosting/np_random.h"

namespace envwire::internal {

class HostedVector : public Hosted {
 public:
  HostedVector(const v1::VectorRequest& request, const std::function<std::unique_ptr<Environment>()>& make);

  void Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) override;
  void TakePart(const MemberStarts& starts, std::uint64_t position) override;
  void Close() override;
  void Describe(v1::MakeResponse* made) override;

 private:
  enum class Autoreset { kNextStep, kSameStep, kDisabled };

  // What a member does in a request of a recording.
  enum class Part { kWhole, kLeftOut, kBeginning };

  struct Member {
    std::unique_ptr<Environment> env;
    NpRandom random;
    Value observation;
    bool ended = false;
    Part part = Part::kWhole;
    std::uint32_t index = 0;
  };
  // How one member is reset.
  struct MemberReset {
    std::optional<Value> seed;
    std::optional<Dict> options;
    bool passed_over = false;
  };

  static Autoreset ModeOf(const std::string& name);
  void Reset(std::string_view body, v1::ResetResponse* answer);
  std::vector<MemberReset> ResetsOf(v1::ResetRequest* request) const;
  void Step(std::string_view body, v1::StepResponse* answer);
  Dict ResetMember(Member& member, const std::optional<Value>& seed, const std::optional<Dict>& options);
  StepResult StepMember(Member& member, const Value& action);
  StepResult ResetAtOnce(Member& member, StepResult ended);
  Value Observations() const;
  void GetAttribute(std::string_view body, v1::GetAttributeResponse* answer);
  void SetAttribute(std::string_view body, v1::SetAttributeResponse* answer);
  void CallMethod(std::string_view body, v1::CallMethodResponse* answer);
  std::vector<Member*> Named(const google::protobuf::RepeatedField<std::uint32_t>& indices);

  std::vector<Member> members_;
  Space observation_space_;
  Space action_space_;
  Autoreset mode_;
  std::string mode_name_;
  bool report_resets_;
  std::vector<v1::MemberReset> resets_;  // without a seed, of this request
  bool started_ = false;
  bool closed_ = false;
};

}  // namespace envwire::internal
