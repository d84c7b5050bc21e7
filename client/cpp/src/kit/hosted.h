// What a session serves: an environment, or several that step together. Nothing is numbered here.
#pragma once

#include <memory>
#include <string_view>

#include "envwire/v1/environment.pb.h"
#include "session/client_session.h"

namespace envwire {
class Environment;
}  // namespace envwire

namespace envwire::internal {

class Hosted {
 public:
  Hosted() = default;
  Hosted(const Hosted&) = delete;
  Hosted& operator=(const Hosted&) = delete;
  virtual ~Hosted() = default;

  // Serves a request of a session: sets the field of the answer that has its name. Throws what goes wrong.
  virtual void Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) = 0;
  // Closes the environment. Called once.
  virtual void Close() = 0;
  // Tells a client what there is: spaces, metadata, capabilities.
  virtual void Describe(v1::MakeResponse* made) = 0;
};

}  // namespace envwire::internal
