#include <gtest/gtest.h>

#include "session/client_session.h"

namespace envwire::internal {
namespace {

// Returns whether a session that outlives its connection for 8 s is still tried for when nobody listened for 3.
bool GoesOn(const char* capability) {
  const Clock::time_point now{};
  ClientSession session(Seconds(30));
  session.Make({}, now);
  Answer answer;
  answer.message.mutable_make()->mutable_lease()->set_seconds(8);
  answer.message.mutable_make()->add_capabilities(capability);
  session.Receive(answer);
  v1::StepRequest request;
  session.Next(Kind::kStep, &request, now);
  session.ConnectionLost({"cut", false, true}, now);
  session.Repeat(now);
  return session.ConnectionLost({"dial", true, false}, now + std::chrono::seconds(3)).has_value();
}

TEST(ClientSession, WaitsForItsLeaseBehindAGatewayThatIsAway) {
  EXPECT_FALSE(GoesOn("chunk"));
  EXPECT_TRUE(GoesOn("relayed"));
}

}  // namespace
}  // namespace envwire::internal
