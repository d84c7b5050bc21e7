// Whether an action is one of its space.
#pragma once

#include "envwire/error.hpp"
#include "spaces/shown.h"

namespace envwire::internal {

// Throws Error (INVALID_ACTION), which names the action and the space.
inline void CheckAction(const Space& space, const Value& action) {
  if (space.Contains(action)) return;
  const std::string shown = Shown(action), expected = Shown(space);
  Error refused("INVALID_ACTION", "action " + shown + " is not in the action space " + expected);
  refused.metadata = {{"path", "action"}, {"action", shown}, {"action_space", expected}};
  throw refused;
}

}  // namespace envwire::internal
