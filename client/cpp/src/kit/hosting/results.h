// What environments return, as answers.
#pragma once

#include "envwire/env.hpp"
#include "envwire/v1/environment.pb.h"

namespace envwire::internal {

// Encodes an observation or a frame. Throws Error (UNSUPPORTED) for one that holds an Opaque: it has no wire form.
void EncodeShown(const Value& value, const char* what, v1::Value* message);

void EncodeReset(const ResetResult& result, v1::ResetResponse* answer);
void EncodeStep(const StepResult& result, v1::StepResponse* answer);

}  // namespace envwire::internal
