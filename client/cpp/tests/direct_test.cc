// The direct channel beside servers that stay silent, or say too much.
#include "transports/direct.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "kit/ports/listeners.h"
#include "step_frame.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

constexpr std::chrono::milliseconds kMoment{20};

constexpr std::chrono::seconds kLong{60};
constexpr std::uint64_t kLimit = std::uint64_t{1} << 62U;

// A server that lets one client in and says no more by itself, neither to its request nor to the next hello.
struct Served {
  // `more` comes in one piece with the welcome.
  explicit Served(const std::string& more = "") {
    auto welcomed = std::async(std::launch::async, [&] {
      WaitFor(listener.get(), POLLIN, Clock::now() + kLong);
      socket = Adopt(Descriptor(accept(listener.get(), nullptr, nullptr)), "the client");
      v1::HelloResponse response;
      response.mutable_welcome()->set_max_message_bytes(kLimit);
      Say(FrameOf(response) + more);
    });
    v1::MakeResponse made;
    made.mutable_direct()->add_addresses("127.0.0.1:" + std::to_string(PortOf(listener.get())));
    transport.emplace(made, "127.0.0.1:1", std::nullopt, false, nullptr);
  }
  void Say(const std::string& bytes) const { socket->Write(bytes.data(), bytes.size(), Clock::now() + kLong); }

  const Descriptor listener = ListenTcp("127.0.0.1", 0);
  std::unique_ptr<Socket> socket;
  std::optional<DirectTransport> transport;
};

TEST(Direct, AnAnswerThatComesTwiceIsNotTheNextOne) {
  Served served;
  served.Say(StepFrame(1) + StepFrame(1));
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kLong, &answer), ConnectionError);
  EXPECT_FALSE(served.transport->holds_lease());
}

TEST(Direct, AnAnswerToAnotherRequestIsNotTaken) {
  Served served;
  served.Say(StepFrame(1));
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kReset, ""}, "", Clock::now() + kLong, &answer), ConnectionError);
}

TEST(Direct, AnAnswerThatNobodyAskedForYetEndsTheChannel) { EXPECT_THROW(Served(StepFrame(1)), Error); }

std::string Announced(std::size_t message, std::size_t attachments) {
  std::string header(kFrameHeaderBytes, '\0');
  PutFrameHeader(message, attachments, header.data());
  return header;
}

TEST(Direct, AMessageThatProtobufCannotReadIsNotWaitedFor) {
  Served served;
  served.Say(Announced(std::size_t{1} << 31U, 0));
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kMoment, &answer), ConnectionError);
}

TEST(Direct, AttachmentsBeyondTheMemoryAreAnErrorOfTheLibrary) {
  Served served;
  served.Say(Announced(0, kLimit));
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kLong, &answer), Error);
}

TEST(Direct, FramesWithoutAnEndAreWaitedForUntilTheDeadline) {
  const std::string header = Announced(1'000, 0);
  for (const std::string& said : {std::string(), header.substr(0, 7), header + "half", Announced(0, 8) + "half"}) {
    Served served;
    served.Say(said);
    Answer answer;
    EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kMoment, &answer), Error);
  }
}

TEST(Direct, TheEndOfTheConnectionEndsAWait) {
  Served served;
  served.socket.reset();
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kLong, &answer), ConnectionError);
}

// Returns a field of protobuf, with its length before it.
std::string Field(char tag, const std::string& bytes) {
  std::string field(1, tag);
  std::size_t left = bytes.size();
  for (; left >= 0x80; left >>= 7U) field += static_cast<char>((left & 0x7fU) | 0x80U);
  return field + static_cast<char>(left) + bytes;
}

TEST(Direct, ValuesThatNestWithoutEndAreNotRead) {
  std::string value;
  for (int depth = 0; depth < 10'000; ++depth) value = Field(0x52, Field(0x0a, value));  // a list in a list
  const std::string answered = Field(0x22, Field(0x0a, value));                          // the observation of a step
  Served served;
  served.Say(Announced(answered.size(), 0) + answered);
  Answer answer;
  EXPECT_THROW(served.transport->Exchange({Kind::kStep, ""}, "", Clock::now() + kLong, &answer), ConnectionError);
}

TEST(Direct, OfManyAddressesAFewAreTried) {
  const Descriptor listener = ListenTcp("127.0.0.1", 0);
  auto dialled = std::async(std::launch::async, [&] {
    for (int count = 0;; ++count) {
      WaitFor(listener.get(), POLLIN, Clock::now() + kLong);
      const Descriptor taken(accept(listener.get(), nullptr, nullptr));
      if (taken.get() < 0) return count;
    }
  });
  v1::MakeResponse made;
  for (int i = 0; i < 2000; ++i) {
    made.mutable_direct()->add_addresses("127.0.0.1:" + std::to_string(PortOf(listener.get())));
  }
  EXPECT_THROW(DirectTransport(made, "127.0.0.1:1", std::nullopt, false, nullptr), Error);
  shutdown(listener.get(), SHUT_RDWR);
  EXPECT_EQ(dialled.get(), 8);
}

TEST(Direct, ADeadlineThatPassesInAHelloIsCalledADeadline) {
  Served served;
  for (const char* what : {"the request", "the hello"}) {
    Answer answer;
    try {
      served.transport->Exchange({Kind::kClose, ""}, "", Clock::now() + kMoment, &answer);
      ADD_FAILURE() << what << " was answered";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "DEADLINE_EXCEEDED") << what;
    }
  }
}

}  // namespace
}  // namespace envwire::internal
