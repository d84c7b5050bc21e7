// The environment, or the vector of environments, of a session. Numbering of requests happens elsewhere.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "envwire/error.hpp"
#include "envwire/v1/environment.pb.h"
#include "session/client_session.h"

namespace envwire {
class Environment;
}  // namespace envwire

namespace envwire::internal {

// Where members of a vector begin in a recording, by their indices.
using MemberStarts = std::map<std::uint32_t, v1::MemberStart>;

class Hosted {
 public:
  Hosted() = default;
  Hosted(const Hosted&) = delete;
  Hosted& operator=(const Hosted&) = delete;
  virtual ~Hosted() = default;

  // Serves a request of a session: sets the answer's field of the same name. Throws errors.
  virtual void Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) = 0;
  // Closes the environment. Called once.
  virtual void Close() = 0;
  // Says, before a request of a recording at this position, which members of a vector take part in it: those that begin
  // later are left out, and those that begin here are reset by it. Throws Error (INVALID_VALUE).
  virtual void TakePart(const MemberStarts& starts, std::uint64_t position) {
    (void)position;
    if (!starts.empty()) throw Error("INVALID_VALUE", "only members of a vector environment begin later");
  }
  // Describes the environment to a client: spaces, metadata, capabilities.
  virtual void Describe(v1::MakeResponse* made) = 0;
};

}  // namespace envwire::internal
