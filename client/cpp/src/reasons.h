// The reasons of errors. Written by `make protos` from protos/envwire/codec/errors/reasons.py.
#pragma once

#include <array>
#include <string_view>

namespace envwire::internal {

struct Reason {
  std::string_view name;
  int code;  // of gRPC
  bool ends_session;
};

// clang-format off
inline constexpr std::array<Reason, 28> kReasons{{
    {"MALFORMED_REQUEST", 3, false},
    {"INVALID_VALUE", 3, false},
    {"INVALID_ACTION", 3, false},
    {"UNKNOWN_ENVIRONMENT", 5, false},
    {"UNKNOWN_SESSION", 5, true},
    {"ATTRIBUTE_MISSING", 5, false},
    {"KWARGS_NOT_ALLOWED", 7, false},
    {"WRAPPER_NOT_ALLOWED", 7, false},
    {"ATTRIBUTE_NOT_ALLOWED", 7, false},
    {"WRONG_SECRET", 7, false},
    {"UNAUTHENTICATED", 16, false},
    {"SCOPE_MISSING", 7, false},
    {"SESSION_CLOSED", 9, true},
    {"RESET_NEEDED", 9, false},
    {"SEQUENCE_GAP", 11, false},
    {"SEQUENCE_REUSED", 3, false},
    {"REQUEST_ID_REUSED", 3, false},
    {"CAPACITY_REACHED", 8, false},
    {"CLIENT_LIMIT_REACHED", 8, false},
    {"RATE_LIMITED", 8, false},
    {"MESSAGE_TOO_LARGE", 8, false},
    {"DRAINING", 14, true},
    {"SESSION_EXPIRED", 10, true},
    {"SESSION_LOST", 10, true},
    {"STEP_TIMEOUT", 4, true},
    {"ENVIRONMENT_RAISED", 2, false},
    {"UNSUPPORTED", 12, false},
    {"INTERNAL", 13, false},
}};
// clang-format on

}  // namespace envwire::internal
