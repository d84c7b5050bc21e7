// The client beside a server in the same process.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "envwire/conformance.hpp"
#include "envwire/envwire.hpp"
#include "envwire/v1/environment.pb.h"

namespace envwire {
namespace {

constexpr char kCounter[] = "Conformance/Counter-v0";

Server Served(bool direct = true, int port = 0) {
  ServeOptions options;
  options.port = port;
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

std::string ReasonOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.reason();
  }
  return "none";
}

TEST(Env, LearnsFromARestartedServerThatItsSessionIsGone) {
  std::string target;
  Env env = [&] {
    const Server first = Served();  // ends here, with its direct port and Unix socket
    target = first.target();
    Env made = Env::Make(target, kCounter);
    made.Reset();
    return made;
  }();
  const Server second = Served(true, std::stoi(target.substr(target.rfind(':') + 1)));
  EXPECT_EQ(ReasonOf([&] { env.Step(1); }), "UNKNOWN_SESSION");
  EXPECT_EQ(ReasonOf([&] { env.Step(1); }), "SESSION_CLOSED");
}

TEST(Env, TakesNoActionsForAChunkOfNone) {
  const Server server = Served();
  Env env = Env::Make(server.target(), kCounter);
  env.Reset();
  EXPECT_TRUE(env.StepMany({}).steps.empty());
  EXPECT_FALSE(env.StepMany({}).error);
}

TEST(Env, RefusesATokenThatNoHeaderCanCarry) {
  for (const char* token : {"secret\n", "secr\xc3\xa9t"}) {
    ConnectOptions connect;
    connect.token = token;
    EXPECT_EQ(ReasonOf([&] { Env::Make("localhost:1", kCounter, {}, connect); }), "INVALID_ARGUMENT");
  }
}

TEST(Env, SendsNoTokenToOtherMachinesInTheClear) {
  ConnectOptions connect;
  connect.token = "secret";
  connect.timeout = 0.5;
  for (const char* target : {"192.0.2.1:50051", "dns:///farm.example:50051", "unixy:1", "127.0.0.1:1,192.0.2.1:1"}) {
    EXPECT_EQ(ReasonOf([&] { Env::Make(target, kCounter, {}, connect); }), "INVALID_ARGUMENT") << target;
  }
  for (const char* target : {"127.0.0.1:1", "ipv4:127.0.0.1:1", "[::1]:1", "unix:/nowhere/socket"}) {
    EXPECT_NE(ReasonOf([&] { Env::Make(target, kCounter, {}, connect); }), "INVALID_ARGUMENT") << target;
  }
  connect.insecure = true;
  EXPECT_NE(ReasonOf([&] { Env::Make("192.0.2.1:50051", kCounter, {}, connect); }), "INVALID_ARGUMENT");
}

TEST(Env, RefusesTimesThatAreNone) {
  const Server server = Served();
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    MakeOptions options;
    options.lease = seconds;
    EXPECT_EQ(ReasonOf([&] { Env::Make(server.target(), kCounter, options); }), "INVALID_ARGUMENT");
    ConnectOptions connect;
    connect.timeout = seconds;
    EXPECT_EQ(ReasonOf([&] { Env::Make(server.target(), kCounter, {}, connect); }), "INVALID_ARGUMENT");
  }
  MakeOptions options;
  ConnectOptions connect;
  options.lease = connect.timeout = std::numeric_limits<double>::infinity();
  Env env = Env::Make(server.target(), kCounter, options, connect);
  EXPECT_EQ(ReasonOf([&] { env.Reset(); }), "none");
}

}  // namespace
}  // namespace envwire
