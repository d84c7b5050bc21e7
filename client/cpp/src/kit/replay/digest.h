// The digest of the answers to a recording, by which a client checks that this environment equals the lost one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "envwire/v1/environment.pb.h"
#include "kit/replay/blake2b.h"

namespace envwire::internal {

class RollingDigest {
 public:
  // Adds the answer to the next request, and modifies it; none for an unseen answer.
  void Add(v1::InteractResponse* answer);
  std::string Value() const { return hash_.Digest(); }
  // How many requests there were.
  std::uint64_t count() const { return count_; }
  // The digest after every 64th of them, of those since it was asked last.
  std::vector<std::string> TakeCheckpoints() { return std::exchange(checkpoints_, {}); }

 private:
  Blake2b hash_;
  std::uint64_t count_ = 0;
  std::vector<std::string> checkpoints_;
};

}  // namespace envwire::internal
