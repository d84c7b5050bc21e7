// Serves a recording: the requests of a lost session, whose client continues here.
#pragma once

#include <functional>

#include "kit/hosting/hosted.h"
#include "kit/replay/digest.h"
#include "kit/reply.h"

namespace envwire::internal {

class Replaying {
 public:
  // Serves one request, as if it were sent separately. Throws errors.
  using Serve = std::function<void(const RequestView& request, v1::InteractResponse* answer)>;

  // Serves as much of a ReplayRequest as two seconds allow. Throws Error (INVALID_VALUE) for a part that does not
  // follow the one before, and for what cannot be in a recording.
  void Apply(std::string_view body, Hosted& hosted, const Serve& serve, v1::ReplayResponse* answer);

 private:
  void ServeNext(const std::string& recorded, bool seen, Hosted& hosted, const Serve& serve);

  RollingDigest digest_;
  MemberStarts starts_;
};

}  // namespace envwire::internal
