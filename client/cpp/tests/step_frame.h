// A frame as servers answer a step with.
#pragma once

#include <string>

#include "envwire/v1/environment.pb.h"
#include "transports/frames.h"

namespace envwire::internal {

inline std::string StepFrame(double reward) {
  v1::InteractResponse answer;
  answer.mutable_step()->set_reward(reward);
  return FrameOf(answer);
}

}  // namespace envwire::internal
