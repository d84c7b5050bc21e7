// How a direct channel comes to its mailbox, on either side.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <cstring>
#include <future>

#include "envwire/conformance.hpp"
#include "envwire/envwire.hpp"
#include "kit/ports/listeners.h"
#include "step_frame.h"
#include "transports/direct.h"
#include "transports/frames.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

constexpr std::chrono::seconds kLong{60};
constexpr std::size_t kLimit = std::size_t{1} << 20U;
constexpr char kName[] = "envwire-test-of-mailboxes";

Clock::time_point Late() { return Clock::now() + kLong; }

template <class Message>
Message Heard(FrameReader& reader) {
  Message message;
  const std::string_view bytes = reader.Read(reader.ReadHeader(Late()).message, Late());
  message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return message;
}

int OpenDescriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// Memory of a mailbox, seen as it is.
struct Memory {
  ~Memory() { munmap(bytes, 2 * kBoxBytes); }

  const Descriptor fd = MakeMailboxMemory(kBoxBytes);
  char* const bytes = static_cast<char*>(mmap(nullptr, 2 * kBoxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
};

// The server's end of one channel on a Unix socket or on TCP; what comes with the welcome is the test's to say.
struct Peer {
  explicit Peer(bool tcp = false)
      : listener(tcp ? ListenTcp("127.0.0.1", 0) : ListenAbstract(kName)),
        address(tcp ? "127.0.0.1:" + std::to_string(PortOf(listener.get())) : std::string(kUnix) + kName) {}

  // Lets a client in; `box_bytes` of 0 is no mailbox.
  void LetIn(const std::vector<const Descriptor*>& sent, std::size_t box_bytes) {
    welcomed = std::async(std::launch::async, [this, sent, box_bytes] {
      WaitFor(listener.get(), POLLIN, Late());
      socket.emplace(Descriptor(accept(listener.get(), nullptr, nullptr)), "the client", MailboxSocket::End::kServer);
      reader.emplace(*socket, kLimit);
      reader->Read(sizeof(kPreamble), Late());
      hello = Heard<v1::HelloRequest>(*reader);
      v1::HelloResponse response;
      response.mutable_welcome()->set_max_message_bytes(kLimit);
      if (box_bytes != 0) response.mutable_welcome()->mutable_mailbox()->set_box_bytes(box_bytes);
      Send(FrameOf(response), sent);
    });
    v1::MakeResponse made;
    made.mutable_direct()->add_addresses(address);
    transport.emplace(made, "127.0.0.1:1", std::nullopt, true, nullptr);
    welcomed.get();
  }

  // One descriptor with each of the first bytes, the last one with all the rest.
  void Send(const std::string& frame, const std::vector<const Descriptor*>& sent) {
    std::size_t at = 0;
    for (const Descriptor* each : sent) {
      const std::size_t size = each == sent.back() ? frame.size() - at : 1;
      socket->WriteWith(*each, &frame[at], size, Late());
      at += size;
    }
    socket->Write(&frame[at], frame.size() - at, Late());
  }

  // Has the client exchange one step; returns the reward, which is 7.
  double Step() {
    const auto served = std::async(std::launch::async, [this] {
      EXPECT_TRUE(Heard<v1::InteractRequest>(*reader).has_step());
      const std::string frame = StepFrame(7);
      socket->Write(frame.data(), frame.size(), Late());
    });
    Answer came;
    transport->Exchange({Kind::kStep, ""}, "", Late(), &came);
    return came.message.step().reward();
  }
  // Whether the client puts a request into the box of a server that says that it is awake.
  bool UsesTheBox(const Memory& memory) {
    EXPECT_TRUE(socket->UseMailbox(memory.fd, kBoxBytes));
    memory.bytes[1] = 0;
    EXPECT_EQ(Step(), 7);
    return memory.bytes[0] == 1;
  }

  const Descriptor listener;
  const std::string address;
  std::future<void> welcomed;
  std::optional<MailboxSocket> socket;
  std::optional<FrameReader> reader;
  v1::HelloRequest hello;
  std::optional<DirectTransport> transport;
};

TEST(MailboxChannel, AClientUsesTheMailboxThatItIsOffered) {
  Peer peer;
  const Memory memory;
  peer.LetIn({&memory.fd}, kBoxBytes);
  EXPECT_TRUE(peer.hello.mailbox());
  EXPECT_TRUE(peer.UsesTheBox(memory));
}

TEST(MailboxChannel, ClientsOnTcpDoNotAsk) {
  Peer peer(true);
  peer.LetIn({}, 0);
  EXPECT_FALSE(peer.hello.mailbox());
  EXPECT_EQ(peer.Step(), 7);
}

TEST(MailboxChannel, WithoutItsDescriptorThereIsNoMailbox) {
  Peer peer;
  peer.LetIn({}, kBoxBytes);
  EXPECT_EQ(peer.Step(), 7);
}

TEST(MailboxChannel, ASizeThatLiesIsNoMailbox) {
  for (const std::size_t box_bytes : {std::size_t{1}, 2 * kBoxBytes, std::size_t{0xFFFFFFFF}}) {
    Peer peer;
    const Descriptor memory = MakeMailboxMemory(kBoxBytes);
    peer.LetIn({&memory}, box_bytes);
    EXPECT_EQ(peer.Step(), 7) << box_bytes;
  }
}

TEST(MailboxChannel, AllDescriptorsThatComeAreClosed) {
  const int before = OpenDescriptors();
  {
    Peer peer;
    const Descriptor other(open("/dev/zero", O_RDWR | O_CLOEXEC));
    const Memory memory;
    const int here = OpenDescriptors();
    peer.LetIn({&other, &other, &memory.fd}, kBoxBytes);
    EXPECT_EQ(OpenDescriptors(), here + 2);  // the connection's ends
    EXPECT_TRUE(peer.UsesTheBox(memory));    // the last one is the mailbox's
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

// A session at the kit, and a channel to it as a client opens it.
struct AtTheKit {
  AtTheKit() : env(Env::Make(server.target(), "Conformance/Counter-v0", {}, Stream())) {}

  static ServeOptions AnyPort() {
    ServeOptions options;
    options.port = 0;
    return options;
  }
  static ConnectOptions Stream() {
    ConnectOptions connect;
    connect.transport = TransportKind::kStream;
    return connect;
  }
  v1::Welcome Open(const std::string& address, bool mailbox) {
    v1::HelloRequest hello;
    hello.mutable_header()->set_session_id(env.made().session_id());
    hello.mutable_header()->set_secret(env.made().secret());
    hello.set_mailbox(mailbox);
    socket = Connect(address, std::nullopt, Late());
    const std::string bytes = std::string(kPreamble, sizeof(kPreamble)) + FrameOf(hello);
    socket->Write(bytes.data(), bytes.size(), Late());
    FrameReader reader(*socket, kLimit);
    return Heard<v1::HelloResponse>(reader).welcome();
  }
  Descriptor Came() { return dynamic_cast<MailboxSocket&>(*socket).TakeDescriptor(); }

  Server server{ConformanceEnvironments(), AnyPort()};
  Env env;
  std::unique_ptr<Socket> socket;
};

TEST(MailboxChannel, TheKitOffersOneWhereItIsAskedFor) {
  AtTheKit kit;
  const std::string address = kit.env.made().direct().addresses(0);
  ASSERT_TRUE(IsUnix(address));
  EXPECT_EQ(kit.Open(address, true).mailbox().box_bytes(), kBoxBytes);
  const Descriptor memory = kit.Came();
  EXPECT_NE(Mailbox::Map(memory, kBoxBytes), nullptr);
  EXPECT_FALSE(kit.Open(address, false).has_mailbox());
  EXPECT_EQ(kit.Came().get(), -1);
}

TEST(MailboxChannel, TheKitOffersNoneOverTcp) {
  AtTheKit kit;
  const std::string port = kit.env.made().direct().addresses(1);
  EXPECT_FALSE(kit.Open("127.0.0.1" + port, true).has_mailbox());
}

// Shows that the box is in use: a request that is only there is answered.
TEST(MailboxChannel, TheKitServesWhatIsInTheBox) {
  AtTheKit kit;
  kit.Open(kit.env.made().direct().addresses(0), true);
  auto& socket = dynamic_cast<MailboxSocket&>(*kit.socket);
  const Descriptor memory = socket.TakeDescriptor();
  auto* bytes = static_cast<char*>(mmap(nullptr, 2 * kBoxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
  ASSERT_NE(bytes, MAP_FAILED);
  v1::InteractRequest request;
  request.mutable_reset()->set_sequence(1);
  const std::string frame = FrameOf(request);
  std::memcpy(bytes + 16, frame.data(), frame.size());
  __atomic_store_n(bytes, char{1}, __ATOMIC_SEQ_CST);
  const std::string wake(kFrameHeaderBytes, '\0');
  socket.Write(wake.data(), wake.size(), Late());
  FrameReader reader(socket, kLimit);  // without its mailbox: the kit is told that the client sleeps
  EXPECT_TRUE(Heard<v1::InteractResponse>(reader).has_reset());
  munmap(bytes, 2 * kBoxBytes);
}

}  // namespace
}  // namespace envwire::internal
