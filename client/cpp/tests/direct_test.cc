// The direct channel beside a server that stays silent.
#include "transports/direct.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "kit/ports/listeners.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

constexpr std::chrono::milliseconds kMoment{20};

// Lets one client in, and says nothing more: neither to its request nor to the next hello.
std::unique_ptr<Socket> Welcomed(int listener) {
  WaitFor(listener, POLLIN, Clock::now() + std::chrono::seconds(60));
  std::unique_ptr<Socket> socket = Adopt(Descriptor(accept(listener, nullptr, nullptr)), "the client");
  v1::HelloResponse response;
  response.mutable_welcome()->set_max_message_bytes(1024);
  std::string frame(kFrameHeaderBytes, '\0');
  PutFrameHeader(response.ByteSizeLong(), 0, frame.data());
  response.AppendToString(&frame);
  socket->Write(frame.data(), frame.size(), Clock::now() + std::chrono::seconds(60));
  return socket;
}

TEST(Direct, ADeadlineThatPassesInAHelloIsCalledADeadline) {
  const Descriptor listener = ListenTcp("127.0.0.1", 0);
  auto server = std::async(std::launch::async, [&] { return Welcomed(listener.get()); });
  v1::MakeResponse made;
  made.mutable_direct()->add_addresses("127.0.0.1:" + std::to_string(PortOf(listener.get())));
  DirectTransport transport(made, "127.0.0.1:1", std::nullopt, false, nullptr);
  const std::unique_ptr<Socket> held = server.get();
  for (const char* what : {"the request", "the hello"}) {
    Answer answer;
    try {
      transport.Exchange({Kind::kClose, ""}, "", Clock::now() + kMoment, &answer);
      ADD_FAILURE() << what << " was answered";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "DEADLINE_EXCEEDED") << what;
    }
  }
}

}  // namespace
}  // namespace envwire::internal
