// Environments of your own, served to clients in any language.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "envwire/env.hpp"
#include "envwire/random.hpp"

namespace envwire {

// Throw it, or any other std::exception, to raise an exception at the client: class, text and arguments are sent.
class Raised : public std::runtime_error {
 public:
  Raised(std::string type_name, const std::string& text, std::vector<Value> args = {})
      : std::runtime_error(text), type_name(std::move(type_name)), args(std::move(args)) {}
  std::string type_name;  // "ValueError"
  std::vector<Value> args;
};

struct ResetContext {
  // The session's generator, seeded as Gymnasium seeds `np_random`. It is the same object for the whole session, so a
  // reference to it may be kept for the steps of an episode.
  Generator& random;
  const std::optional<Dict>& options;
};

// An environment. One thread at a time calls it. Which one: that of `Server::Poll` if the server is polled, the thread
// that called Serve in a program of `envwire serve --exec`, and otherwise that of the client's connection, so that
// different calls may come from different threads.
class Environment {
 public:
  // `metadata` is {{"render_modes", List{{"ansi"}}}, {"render_fps", 4}} for instance.
  Environment(Space observation_space, Space action_space, Dict metadata = {})
      : observation_space_(std::move(observation_space)),
        action_space_(std::move(action_space)),
        metadata_(std::move(metadata)) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  virtual ~Environment() = default;

  virtual ResetResult Reset(const ResetContext& context) = 0;
  // The action is in the action space, and there was a reset, unless `lenient`.
  virtual StepResult Step(const Value& action) = 0;
  // A frame: NdArray of uint8 (height, width, 3), a text, or None.
  virtual Value Render() { return None{}; }
  virtual void Close() {}
  // The state of the environment without the generator; absent if states cannot be saved.
  virtual std::optional<Value> SaveState() { return std::nullopt; }
  virtual void RestoreState(const Value& /*state*/) {}

  const Space& observation_space() const { return observation_space_; }
  const Space& action_space() const { return action_space_; }
  const Dict& metadata() const { return metadata_; }

  struct Attribute {
    std::function<Value()> get;
    std::function<void(const Value&)> set;  // empty where it cannot be set
  };
  using Method = std::function<Value(const std::vector<Value>& args, const Dict& kwargs)>;
  const std::map<std::string, Attribute>& attributes() const { return attributes_; }
  const std::map<std::string, Method>& methods() const { return methods_; }

  bool lenient() const { return lenient_; }
  // The warnings since they were last taken: category and text.
  std::vector<std::pair<std::string, std::string>> TakeWarnings() { return std::exchange(warnings_, {}); }

 protected:
  // Makes an attribute or a method accessible to clients. Other parts of an environment are not accessible.
  void Expose(const std::string& name, std::function<Value()> get, std::function<void(const Value&)> set = nullptr) {
    attributes_[name] = {std::move(get), std::move(set)};
  }
  void ExposeMethod(const std::string& name, Method method) { methods_[name] = std::move(method); }
  // Sends a warning to the client with the next answer, like Python's warnings.warn.
  void Warn(std::string text, std::string category = "UserWarning") {
    warnings_.emplace_back(std::move(category), std::move(text));
  }
  // Disables the checks, so that Step is called with every action, and before the first reset as well.
  void set_lenient() { lenient_ = true; }

 private:
  Space observation_space_;
  Space action_space_;
  Dict metadata_;
  std::map<std::string, Attribute> attributes_;
  std::map<std::string, Method> methods_;
  std::vector<std::pair<std::string, std::string>> warnings_;
  bool lenient_ = false;
};

// The request of a client.
struct MakeContext {
  std::optional<std::string> render_mode;
  Dict kwargs;
};

// Makes environments, by their ids: {{"Counter-v0", [](const MakeContext&) { return std::make_unique<Counter>(); }}}.
using Registry = std::map<std::string, std::function<std::unique_ptr<Environment>(const MakeContext&)>>;

struct ServeOptions {
  // The address to listen on. Other machines can reach "0.0.0.0"; then also set `tls` and a `token`.
  std::string host = "127.0.0.1";
  int port = 50051;     // of gRPC; 0 for any free one
  int direct_port = 0;  // of the direct channel; 0 for any free one
  bool direct = true;
  // PEM texts: `certificate_chain` and `private_key`, and `root_certificates` if clients have to show a certificate.
  std::optional<Tls> tls;
  // The token that clients have to send, as "authorization: Bearer TOKEN".
  std::string token;
  std::uint32_t max_sessions = 64;
  std::uint32_t max_envs_per_session = 1024;
  // Default and maximum seconds that a session outlives its client.
  double default_lease = 60;
  double max_lease = 3600;
  // Seconds after which clients give up a request. The kit does not stop a step that takes longer.
  double step_timeout = 60;
  std::size_t max_message_bytes = std::size_t{256} << 20U;
  // Has the thread that calls Server::Poll make and call all environments. Serve ignores it.
  bool polled = false;
};

// A server that listens until it is destroyed. Everything runs in this process, each session in the threads of its
// clients: an environment that crashes the process ends all of them. The direct port bounds unauthenticated
// connections. gRPC does not (it closes silent ones after 30 s), so public servers need a proxy that does.
class Server {
 public:
  // Throws Error (UNAVAILABLE) if a port cannot be bound.
  explicit Server(Registry registry, const ServeOptions& options = {});
  // Ends all sessions, after the steps in progress.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // HOST:PORT of gRPC.
  const std::string& target() const;

  // For programs with a main loop, such as engines: runs the requests that wait for environments, at most one for each
  // session, in this thread, and returns how many there were. Waits up to `seconds` for the first. Always call it in
  // the same thread, which also destroys the server; clients wait meanwhile, until their deadlines. Throws
  // std::logic_error if the server is not `polled`.
  std::size_t Poll(double seconds = 0);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

// Serves until SIGINT or SIGTERM. Call it before other threads are started, so that they inherit the mask of these
// signals. `listening` is called with HOST:PORT; without it, Serve prints that on standard error.
//
// Started by `envwire serve --exec PROGRAM ID`, it serves the one session of that server instead, over a socket that it
// inherits, and returns when the session is over. The environment is then called in the thread that called Serve, and
// `options` of ports and access have no effect: leases, tokens and limits are those of the server.
void Serve(Registry registry, ServeOptions options = {},
           const std::function<void(const std::string& target)>& listening = nullptr);

}  // namespace envwire
