// Frames in shared memory: the boxes, and sockets that have them beside them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "errors.h"
#include "transports/frame_reader.h"
#include "transports/frames.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

constexpr std::chrono::milliseconds kMoment{20};
constexpr std::chrono::seconds kLong{60};
constexpr std::size_t kLimit = std::size_t{1} << 30U;
constexpr std::size_t kRoom = kBoxBytes - 16;
const std::string kWake(kFrameHeaderBytes, '\0');

Clock::time_point Late() { return Clock::now() + kLong; }

// A frame whose message has so many bytes, all of them `fill`.
std::string Frame(std::size_t message, char fill = 'm') {
  std::string frame(kFrameHeaderBytes, '\0');
  PutFrameHeader(message, 0, frame.data());
  return frame.append(message, fill);
}

// The memory as the peer of a test writes it, who keeps to no rules.
struct Memory {
  char* requests() const { return bytes; }
  char* answers() const { return bytes + kBoxBytes; }

  const Descriptor fd = MakeMailboxMemory(kBoxBytes);
  char* const bytes = static_cast<char*>(mmap(nullptr, 2 * kBoxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  const std::unique_ptr<Mailbox> unmaps = Mailbox::Map(fd, kBoxBytes);
  ~Memory() { munmap(bytes, 2 * kBoxBytes); }
};

// Puts a frame, or what looks like one, as a peer would.
void PutRaw(char* box, const std::string& frame) {
  std::memcpy(box + 16, frame.data(), frame.size());
  ++box[0];
}

std::pair<Descriptor, Descriptor> SocketPair() {
  std::array<int, 2> pair{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()), 0);
  return {Descriptor(pair[0]), Descriptor(pair[1])};
}

// Both ends of a channel in one process.
struct Channel {
  Channel() {
    auto [one, other] = SocketPair();
    client.emplace(std::move(one), "the server", MailboxSocket::End::kClient);
    server.emplace(std::move(other), "the client", MailboxSocket::End::kServer);
    client->TakeDescriptor();
    EXPECT_TRUE(client->UseMailbox(memory.fd, kBoxBytes));
    EXPECT_TRUE(server->UseMailbox(memory.fd, kBoxBytes));
  }

  const Memory memory;
  std::optional<MailboxSocket> client;
  std::optional<MailboxSocket> server;
};

void Say(MailboxSocket& socket, const std::string& frame) { socket.Write(frame.data(), frame.size(), Late()); }

std::string Heard(FrameReader& reader) {
  const FrameReader::Header header = reader.ReadHeader(Late());
  return std::string(reader.Read(header.message, Late()));
}

// Keeps a processor busy, so that what follows comes at any point of the other side's wait.
void BusyFor(std::chrono::nanoseconds time) {
  for (const auto begun = Clock::now(); Clock::now() - begun < time;) {
  }
}

TEST(Box, HoldsAFrameForAReaderThatIsAwake) {
  const Memory memory;
  Box writer(memory.requests(), kBoxBytes);
  Box reader(memory.requests(), kBoxBytes);
  EXPECT_FALSE(writer.Takes(20));  // readers sleep at first
  reader.SetSleeping(false);
  EXPECT_TRUE(writer.Takes(20));
  EXPECT_TRUE(writer.Takes(kRoom));
  EXPECT_FALSE(writer.Takes(kRoom + 1));
  std::string out(kRoom, '?');
  for (int count = 1; count <= 300; ++count) {  // past the 256 that a byte counts
    const std::string frame = Frame(static_cast<std::size_t>(count), static_cast<char>(count));
    EXPECT_FALSE(reader.has_frame());
    EXPECT_FALSE(writer.Put(frame.data(), frame.size()));
    ASSERT_TRUE(reader.has_frame());
    EXPECT_EQ(out.substr(0, reader.Take(out.data(), out.size())), frame);
  }
  EXPECT_EQ(memory.requests()[0], 300 - 256);
}

TEST(Box, TellsTheWriterOfAReaderThatFellAsleep) {
  const Memory memory;
  Box writer(memory.answers(), kBoxBytes);
  Box reader(memory.answers(), kBoxBytes);
  reader.SetSleeping(false);
  ASSERT_TRUE(writer.Takes(16));
  reader.SetSleeping(true);
  EXPECT_TRUE(writer.Put(kWake.data(), kWake.size()));
  EXPECT_FALSE(writer.Takes(16));
}

TEST(Box, TakesNoFrameThatDoesNotFit) {
  const Memory memory;
  Box reader(memory.requests(), kBoxBytes);
  std::string out(kBoxBytes, '?');
  PutRaw(memory.requests(), Frame(kRoom - 16));
  EXPECT_EQ(reader.Take(out.data(), out.size()), kRoom);
  for (const std::size_t message : {std::size_t{0}, kRoom - 15, kBoxBytes, std::size_t{0xFFFFFFFF}}) {
    std::string header(kFrameHeaderBytes, '\0');
    PutFrameHeader(message, 0, header.data());
    PutRaw(memory.requests(), header);
    EXPECT_THROW(reader.Take(out.data(), out.size()), ConnectionError) << message;
  }
  std::string attached(kFrameHeaderBytes, '\0');
  PutFrameHeader(4, 1, attached.data());
  PutRaw(memory.requests(), attached);
  EXPECT_THROW(reader.Take(out.data(), out.size()), ConnectionError);
  PutRaw(memory.requests(), Frame(100));
  EXPECT_THROW(reader.Take(out.data(), 100), ConnectionError);
}

TEST(Mailbox, MapsOnlyMemoryThatIsThereToStay) {
  const Descriptor memory = MakeMailboxMemory(kBoxBytes);
  for (const std::size_t box_bytes : {0U, 1U, 16U, 32U, 100U, 4100U, 8192U, 65536U, 0x80000000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(Mailbox::Map(memory, box_bytes), nullptr) << box_bytes;
  }
  EXPECT_NE(Mailbox::Map(memory, kBoxBytes), nullptr);
  EXPECT_NE(Mailbox::Map(memory, kBoxBytes / 2), nullptr);  // less than there is
  EXPECT_EQ(Mailbox::Map(Descriptor(-1), kBoxBytes), nullptr);
  EXPECT_EQ(Mailbox::Map(Descriptor(open("/dev/zero", O_RDWR | O_CLOEXEC)), kBoxBytes), nullptr);
  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 2 * kBoxBytes), 0);
  EXPECT_EQ(Mailbox::Map(unsealed, kBoxBytes), nullptr);
}

TEST(Mailbox, MemoryOfTheServersCannotChangeItsSize) {
  const Descriptor memory = MakeMailboxMemory(kBoxBytes);
  EXPECT_EQ(ftruncate(memory.get(), 0), -1);
  EXPECT_EQ(ftruncate(memory.get(), 4 * kBoxBytes), -1);
  EXPECT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

// Writes as a peer of `box`'s reader, who is awake or not; returns whether the frame went into the box.
bool GoesIntoTheBox(Channel& channel, bool awake, const std::string& frame) {
  channel.memory.requests()[1] = awake ? 0 : 1;
  const char before = channel.memory.requests()[0];
  Say(*channel.client, frame);
  return channel.memory.requests()[0] != before;
}

TEST(MailboxSocket, PutsSmallFramesIntoTheBoxOfAReaderThatIsAwake) {
  Channel channel;
  EXPECT_TRUE(GoesIntoTheBox(channel, true, Frame(10)));
  EXPECT_EQ(std::string(channel.memory.requests() + 16, 26), Frame(10));
  EXPECT_TRUE(GoesIntoTheBox(channel, true, Frame(kRoom - 16)));
  EXPECT_FALSE(GoesIntoTheBox(channel, true, Frame(kRoom - 15)));
  EXPECT_FALSE(GoesIntoTheBox(channel, false, Frame(10)));
}

// A reader who falls asleep and wakes all the time, but never looks by itself.
TEST(MailboxSocket, WakesAReaderWhoFellAsleepWhileItPut) {
  Channel channel;
  std::atomic<bool> over{false};
  const auto toggling = std::async(std::launch::async, [&] {
    while (!over) {
      __atomic_store_n(channel.memory.requests() + 1, char{0}, __ATOMIC_SEQ_CST);
      __atomic_store_n(channel.memory.requests() + 1, char{1}, __ATOMIC_SEQ_CST);
    }
  });
  const auto is_woken = [&] {
    std::string come(64, '?');
    const auto count = channel.server->Read(come.data(), come.size(), Clock::now());
    return come.substr(0, count) == kWake;
  };
  bool woken = false;
  for (int round = 0; round < 1'000'000 && !woken; ++round) {
    try {
      Say(*channel.client, Frame(1));
      woken = is_woken();
    } catch (const Error&) {  // nothing came on the socket
    }
  }
  over = true;
  EXPECT_TRUE(woken);
}

// Frames of many sizes, each answered by itself.
TEST(MailboxSocket, CarriesFramesBothWays) {
  Channel channel;
  constexpr int kRounds = 5'000;
  const auto served = std::async(std::launch::async, [&] {
    FrameReader reader(*channel.server, kLimit);
    for (int round = 0; round < kRounds; ++round) {
      const std::string message = Heard(reader);
      Say(*channel.server, Frame(message.size(), message.empty() ? '?' : message[0]));
    }
  });
  FrameReader reader(*channel.client, kLimit);
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t size = 1 + random() % (random() % 50 == 0 ? 300'000 : 2 * kBoxBytes);
    Say(*channel.client, Frame(size, static_cast<char>(round)));
    ASSERT_EQ(Heard(reader), std::string(size, static_cast<char>(round))) << round;
    ASSERT_TRUE(reader.empty());
  }
}

// A writer, and a reader who falls asleep at any point of what the writer does, round for round.
struct Sleeper {
  static constexpr int kRounds = 100'000;
  static constexpr int kSeconds = 10;
  const std::string frame = Frame(1);

  void Write() {
    Box box(memory.requests(), kBoxBytes);
    std::mt19937 random(4);
    for (int round = 0; round < kRounds && taken >= 0; ++round) {
      Pause(random() % 64);
      while (IsLong(round) && !box.Takes(frame.size())) std::this_thread::yield();
      const bool awake = box.Takes(frame.size());
      found = round + 1;
      Pause(random() % 64);
      while (IsLong(round) && looked <= round) std::this_thread::yield();
      const bool asleep = awake && box.Put(frame.data(), frame.size());
      if (asleep) ++woken;
      if (!awake || asleep) Send(awake ? "w" : "f");
      for (int turns = 1; taken >= 0 && taken <= round; ++turns) {
        if (turns % 1024 == 0) std::this_thread::yield();
      }
    }
  }

  static void Pause(unsigned turns) {
    for (; turns > 0; --turns) __atomic_signal_fence(__ATOMIC_SEQ_CST);  // keeps the loop
  }
  // In such a round the writer finds the reader awake, and puts its frame when that one has fallen asleep.
  static bool IsLong(int round) { return round % 16 == 0; }
  void Send(const char* byte) const { EXPECT_EQ(send(pair.first.get(), byte, 1, MSG_NOSIGNAL), 1); }

  void Read() {
    Box box(memory.requests(), kBoxBytes);
    std::mt19937 random(5);
    for (int round = 0; round < kRounds && taken >= 0; ++round) {
      box.SetSleeping(false);
      Pause(random() % 96);
      while (IsLong(round) && found <= round) std::this_thread::yield();
      box.SetSleeping(true);
      taken = Awaited(box, round) ? round + 1 : -1;
    }
  }

  bool Awaited(Box& box, int round) {
    std::string out(kRoom, '?');
    char byte = '?';
    for (;;) {
      if (box.has_frame()) return box.Take(out.data(), out.size()) > 0;
      looked = round + 1;
      if (recv(pair.second.get(), &byte, 1, 0) == 1) {
        if (byte == 'f') return true;
      } else {
        pollfd polled{pair.second.get(), POLLIN, 0};
        if (poll(&polled, 1, kSeconds * 1000) == 0) return false;
      }
    }
  }

  const Memory memory;
  const std::pair<Descriptor, Descriptor> pair = SocketPair();
  std::atomic<int> found{0};   // rounds in which the writer has seen whether the reader sleeps
  std::atomic<int> looked{0};  // frames that were not there when the reader looked before it slept
  std::atomic<int> taken{0};   // frames; -1 when one was lost
  int woken = 0;
};

TEST(Box, LosesNoWake) {
  Sleeper sleeper;
  auto written = std::async(std::launch::async, [&] { sleeper.Write(); });
  sleeper.Read();
  written.get();
  EXPECT_EQ(sleeper.taken, Sleeper::kRounds);
  EXPECT_GE(sleeper.woken, Sleeper::kRounds / 16);
}

// Waits that end about when the reader stops to spin, and falls asleep.
TEST(MailboxSocket, WakesAReaderThatFallsAsleep) {
  Channel channel;
  constexpr int kRounds = 4'000;
  const auto served = std::async(std::launch::async, [&] {
    FrameReader reader(*channel.server, kLimit);
    std::mt19937 random(2);
    for (int round = 0; round < kRounds; ++round) {
      const std::string message = Heard(reader);
      if (round % 2 == 0) BusyFor(kSpin + std::chrono::nanoseconds(random() % 20'000) - std::chrono::microseconds(10));
      Say(*channel.server, Frame(message.size(), message[0]));
    }
  });
  FrameReader reader(*channel.client, kLimit);
  std::mt19937 random(3);
  for (int round = 0; round < kRounds; ++round) {
    if (round % 3 == 0) BusyFor(kSpin + std::chrono::nanoseconds(random() % 20'000) - std::chrono::microseconds(10));
    Say(*channel.client, Frame(8, static_cast<char>(round)));
    ASSERT_EQ(Heard(reader), std::string(8, static_cast<char>(round))) << round;
  }
}

TEST(MailboxSocket, AWakeThatComesLateIsPassedOver) {
  Channel channel;
  FrameReader reader(*channel.server, kLimit);
  channel.memory.requests()[1] = 1;
  Say(*channel.client, kWake + kWake + Frame(3, 'a') + kWake + Frame(4, 'b') + kWake);
  EXPECT_EQ(Heard(reader), "aaa");
  EXPECT_FALSE(reader.empty());
  EXPECT_EQ(Heard(reader), "bbbb");
  EXPECT_TRUE(reader.empty());
  PutRaw(channel.memory.requests(), Frame(5, 'c'));
  EXPECT_FALSE(reader.empty());
  EXPECT_EQ(Heard(reader), "ccccc");
}

TEST(MailboxSocket, AWakeMayComeInPieces) {
  Channel channel;
  FrameReader reader(*channel.server, kLimit);
  channel.memory.requests()[1] = 1;
  Say(*channel.client, kWake.substr(0, 7));
  const auto heard = std::async(std::launch::async, [&] { return Heard(reader); });
  PutRaw(channel.memory.requests(), Frame(5, 'c'));
  Say(*channel.client, kWake.substr(7));
  EXPECT_EQ(heard.wait_for(kLong), std::future_status::ready);
}

TEST(MailboxSocket, WithoutAMailboxAnEmptyFrameIsAFrame) {
  auto [one, other] = SocketPair();
  MailboxSocket client(std::move(one), "the server", MailboxSocket::End::kClient);
  MailboxSocket server(std::move(other), "the client", MailboxSocket::End::kServer);
  EXPECT_FALSE(server.UseMailbox(Descriptor(-1), kBoxBytes));
  Say(client, kWake);
  FrameReader reader(server, kLimit);
  EXPECT_EQ(Heard(reader), "");
  EXPECT_TRUE(reader.empty());
}

// A peer that sends wakes without end, or at least very many.
class SendsWakes : public MailboxSocket {
 public:
  explicit SendsWakes(Descriptor fd) : MailboxSocket(std::move(fd), "the server", End::kClient) {}

 protected:
  ssize_t Receive(char* data, std::size_t) override {
    std::memset(data, 0, kFrameHeaderBytes);
    return left_-- > 0 ? static_cast<ssize_t>(kFrameHeaderBytes) : 0;
  }

 private:
  int left_ = 100'000;
};

TEST(MailboxSocket, WakesDoNotKeepAReaderBeyondItsDeadline) {
  const Memory memory;
  SendsWakes socket(SocketPair().first);
  ASSERT_TRUE(socket.UseMailbox(memory.fd, kBoxBytes));
  try {
    FrameReader(socket, kLimit).ReadHeader(Clock::now());
    ADD_FAILURE() << "a wake was taken for a frame";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "DEADLINE_EXCEEDED");
  }
}

TEST(MailboxSocket, ALengthThatLiesEndsTheConnection) {
  Channel channel;
  std::string header(kFrameHeaderBytes, '\0');
  PutFrameHeader(kBoxBytes, 0, header.data());
  PutRaw(channel.memory.requests(), header);
  PutRaw(channel.memory.answers(), header);
  EXPECT_THROW(FrameReader(*channel.server, kLimit).ReadHeader(Late()), ConnectionError);
  EXPECT_THROW(FrameReader(*channel.client, kLimit).ReadHeader(Late()), ConnectionError);
}

TEST(MailboxSocket, AnEmptyFrameInTheBoxIsNoWake) {
  Channel channel;
  PutRaw(channel.memory.requests(), kWake);
  PutRaw(channel.memory.answers(), kWake);
  EXPECT_THROW(FrameReader(*channel.server, kLimit).ReadHeader(Late()), ConnectionError);
  EXPECT_THROW(FrameReader(*channel.client, kLimit).ReadHeader(Late()), ConnectionError);
}

TEST(MailboxSocket, AFrameBeyondTheLimitIsRefusedInTheBoxAsWell) {
  Channel channel;
  PutRaw(channel.memory.requests(), Frame(11));
  EXPECT_THROW(FrameReader(*channel.server, 10).ReadHeader(Late()), ConnectionError);
}

TEST(MailboxSocket, ADeadlinePassesWhileNothingComes) {
  Channel channel;
  FrameReader reader(*channel.client, kLimit);
  for (int round = 0; round < 3; ++round) {
    PutRaw(channel.memory.answers(), Frame(1));
    Heard(reader);  // short: the next wait spins
    try {
      reader.ReadHeader(Clock::now() + kMoment);
      ADD_FAILURE() << "nothing was taken for a frame";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "DEADLINE_EXCEEDED");
    }
  }
}

// The last answer of a session is put before the server closes, and a client that looked before both sees the end
// first.
class EndsBehindAFrame : public MailboxSocket {
 public:
  EndsBehindAFrame(Descriptor fd, char* box, int error)
      : MailboxSocket(std::move(fd), "the server", End::kClient), box_(box), error_(error) {}

 protected:
  ssize_t Receive(char*, std::size_t) override {
    if (!std::exchange(put_, true)) PutRaw(box_, Frame(2, 'z'));
    errno = error_;
    return error_ == 0 ? 0 : -1;
  }

 private:
  char* box_;
  int error_;
  bool put_ = false;
};

TEST(MailboxSocket, AFrameThatWasPutBeforeTheEndIsTaken) {
  for (const int error : {0, ECONNRESET}) {  // the latter where the server left something unread
    const Memory memory;
    EndsBehindAFrame socket(SocketPair().first, memory.answers(), error);
    ASSERT_TRUE(socket.UseMailbox(memory.fd, kBoxBytes));
    FrameReader reader(socket, kLimit);
    EXPECT_EQ(Heard(reader), "zz");
    EXPECT_THROW(reader.ReadHeader(Late()), ConnectionError);
  }
}

TEST(MailboxSocket, AnotherThreadsShutdownEndsAWait) {
  Channel channel;
  const auto waiting = std::async(std::launch::async, [&] {
    FrameReader reader(*channel.server, kLimit);
    EXPECT_THROW(reader.ReadHeader(Late()), ConnectionError);
  });
  channel.server->Shutdown();
  EXPECT_EQ(waiting.wait_for(kLong / 2), std::future_status::ready);
}

TEST(MailboxSocket, AfterAShutdownTheBoxIsClosedAsWell) {
  Channel channel;
  PutRaw(channel.memory.requests(), Frame(1));
  channel.server->Shutdown();
  EXPECT_THROW(FrameReader(*channel.server, kLimit).ReadHeader(Late()), ConnectionError);
  channel.memory.answers()[1] = 0;
  EXPECT_THROW(Say(*channel.server, Frame(1)), ConnectionError);
}

}  // namespace
}  // namespace envwire::internal
