// The client beside a server in the same process.
#include <gtest/gtest.h>

#include "envwire/conformance.hpp"
#include "envwire/envwire.hpp"
#include "envwire/v1/environment.pb.h"

namespace envwire {
namespace {

constexpr char kCounter[] = "Conformance/Counter-v0";

Server Served(bool direct = true) {
  ServeOptions options;
  options.port = 0;
  options.direct = direct;
  options.max_sessions = 1;
  return Server(ConformanceEnvironments(), options);
}

TEST(Env, IsToldWhatItWasMadeWith) {
  const Server server = Served();
  MakeOptions options;
  options.kwargs = {{"length", 5}};
  const Env env = Env::Make(server.target(), kCounter, options);
  EXPECT_EQ(env.made().spec().kwargs().entries(0).name(), "length");
}

TEST(Env, SaysThatItWasMovedFrom) {
  const Server server = Served();
  Env env = Env::Make(server.target(), kCounter);
  const Env other = std::move(env);
  EXPECT_EQ(other.transport(), "direct");
  EXPECT_THROW(env.transport(), Error);  // NOLINT(bugprone-use-after-move)
}

TEST(Env, LeavesNoSessionBehindWhereItsTransportCannotBeHad) {
  const Server server = Served(false);
  ConnectOptions connect;
  connect.transport = TransportKind::kDirect;
  EXPECT_THROW(Env::Make(server.target(), kCounter, {}, connect), Error);
  EXPECT_EQ(Env::Make(server.target(), kCounter).transport(), "stream");
}

}  // namespace
}  // namespace envwire
