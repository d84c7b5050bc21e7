// Remote environments, with an interface like Gymnasium's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "envwire/error.hpp"
#include "envwire/options.hpp"
#include "envwire/space.hpp"
#include "envwire/value.hpp"

namespace envwire {

namespace v1 {
class MakeResponse;
class ResetResponse;
}  // namespace v1

namespace internal {
class Connection;
}  // namespace internal

struct ResetResult {
  Value observation;
  Dict info = {};
};

struct StepResult {
  Value observation;
  double reward = 0;  // NaN if it is not a number; `typed_reward` has the exact value
  bool terminated = false;
  bool truncated = false;
  Dict info = {};
  // The exact values that the environment returned; absent for a plain float and plain booleans.
  std::optional<Value> typed_reward = std::nullopt;
  std::optional<Value> typed_terminated = std::nullopt;
  std::optional<Value> typed_truncated = std::nullopt;

  bool done() const { return terminated || truncated; }
};

// The results of a chunk; `error` says why the action after the last of `steps` failed, if one did.
struct ChunkResult {
  std::vector<StepResult> steps;
  std::optional<Error> error;
};

struct VectorReset {
  Value observations;
  Dict infos;
};

// Arrays of num_envs elements.
struct VectorStep {
  Value observations;
  NdArray rewards;
  NdArray terminations;
  NdArray truncations;
  Dict infos;
};

// Base of single and vector environments. One thread at a time may drive an environment. Every method may throw Error:
// `reason()` says what happened. After an error the session goes on, unless the error says that it has ended.
class RemoteBase {
 public:
  RemoteBase(RemoteBase&& other) noexcept;
  RemoteBase& operator=(RemoteBase&& other) noexcept;
  // Closes the environment, as Close() does, but ignores failures.
  virtual ~RemoteBase();

  // The present spaces. A reset replaces them if the environment changes them.
  const Space& observation_space() const { return observation_space_; }
  const Space& action_space() const { return action_space_; }
  const Dict& metadata() const { return metadata_; }

  Value Render();
  // An attribute, on the outermost wrapper that has it.
  Value GetAttribute(const std::string& name);
  void SetAttribute(const std::string& name, const Value& value);
  Value Call(const std::string& name, const std::vector<Value>& args = {}, const Dict& kwargs = {});
  // Closes the environment and ends its session. Closing is idempotent.
  void Close();

  // Number of times that the session continued after its connection broke.
  int resumed() const;
  // "direct", "stream" or "unary".
  std::string transport() const;
  // The MakeResponse (envwire/v1/environment.pb.h), for fields that have no method here.
  const v1::MakeResponse& made() const;

 protected:
  explicit RemoteBase(std::unique_ptr<internal::Connection> connection);
  internal::Connection& connection() const;
  // Takes the spaces that a reset has changed.
  void FollowSpaces(v1::ResetResponse* reset);

 private:
  std::unique_ptr<internal::Connection> connection_;
  Space observation_space_;
  Space action_space_;
  // Those with which the environment was made.
  Space made_observation_space_;
  Space made_action_space_;
  Dict metadata_;
};

// One environment.
class Env : public RemoteBase {
 public:
  // Makes an environment at `target`, "HOST:PORT".
  static Env Make(const std::string& target, const std::string& id, const MakeOptions& options = {},
                  const ConnectOptions& connect = {});

  // Starts an episode.
  ResetResult Reset(std::optional<std::int64_t> seed = std::nullopt, const std::optional<Dict>& options = std::nullopt);
  // Takes one step. The action has the type of the action space: 1, 0.5, NdArray::Of<float>({2}, {0.1F, 0.2F}).
  StepResult Step(const Value& action);
  // Takes up to 1,024 steps with one message, until the episode ends or an action fails. The server may take fewer than
  // asked for.
  ChunkResult StepMany(const std::vector<Value>& actions);

 private:
  using RemoteBase::RemoteBase;
};

// Environments of one id that step together in one session, with one message for all of them.
class VectorEnv : public RemoteBase {
 public:
  static VectorEnv Make(const std::string& target, const std::string& id, std::uint32_t num_envs,
                        const VectorOptions& options = {}, const ConnectOptions& connect = {});

  std::uint32_t num_envs() const;
  // Member i is seeded with `seed` + i.
  VectorReset Reset(std::optional<std::int64_t> seed = std::nullopt, const std::optional<Dict>& options = std::nullopt);
  VectorStep Step(const Value& actions);

 private:
  using RemoteBase::RemoteBase;
};

}  // namespace envwire
