// How the methods of the service are called.
#pragma once

#include <array>

namespace envwire::internal {

inline constexpr char kService[] = "/envwire.v1.EnvironmentService/";

// The unary methods, by the number of their field in InteractRequest.
inline constexpr std::array<const char*, 17> kMethods = {
    "",       "ListEnvironments", "Make",         "Reset",      "Step",           "Render",
    "Close",  "GetAttribute",     "SetAttribute", "CallMethod", "RenewLease",     "GetServerInfo",
    "Replay", "SaveState",        "RestoreState", "",           "GetSessionStats"};

}  // namespace envwire::internal
