#include "kit/ports/lent_connections.h"

#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "kit/faults.h"
#include "kit/request_fields.h"
#include "transports/descriptors.h"
#include "transports/frame_reader.h"
#include "transports/frames.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

constexpr char kConnections[] = "ENVWIRE_CONNECTIONS";
constexpr char kCounts[] = "ENVWIRE_COUNTS";
constexpr std::size_t kLineBytes = 4096;  // of what comes with a descriptor, which is for Node.js
// A client that takes longer to read an answer is the server's to wait for, which may want the connection meanwhile.
constexpr std::chrono::milliseconds kPatience{250};
constexpr std::chrono::hours kIdle{24 * 365};
constexpr std::chrono::milliseconds kLook{1};

// The message of a loan: docs/protocol.md has the bytes.
struct Loan {
  std::uint64_t limit;
  std::uint32_t box_bytes;
  std::uint8_t taken;
  std::uint8_t put;
  std::uint16_t unused;
};
static_assert(sizeof(Loan) == 16);

Loan ReadLoan(std::string_view message) {
  if (message.size() != sizeof(Loan))
    throw ConnectionError("the server lent a connection in an unknown way", false, true);
  return GetNumber<Loan>(message.data());
}

bool IsReadable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

std::optional<Descriptor> Inherited(const char* name) {
  const char* number = std::getenv(name);
  if (number == nullptr) return std::nullopt;
  std::optional<Descriptor> descriptor(std::atoi(number));
  unsetenv(name);  // programs that the environment starts have no part in it
  return descriptor;
}

// The request in a frame, if it needs nothing of the server.
std::optional<RequestView> ServedHere(std::string_view message) {
  try {
    const RequestView request = Unwrap(message);
    switch (request.kind) {
      case Kind::kReset:
      case Kind::kStep:
      case Kind::kRender:
      case Kind::kSaveState:
      case Kind::kRestoreState: return request;
      default: return std::nullopt;
    }
  } catch (const Error&) {  // the server says what is wrong with it
    return std::nullopt;
  }
}

// How the message begins with which a connection is given back. What was not sent and not served follows.
struct Returned {
  std::uint8_t open;
  std::uint8_t taken;
  std::uint8_t put;
  std::uint8_t unused;
  std::uint32_t unsent;
};
static_assert(sizeof(Returned) == 8);

std::string HeaderOf(const FrameReader::Header& header) {
  std::string bytes(kFrameHeaderBytes, '\0');
  PutFrameHeader(header.message, header.attachments, bytes.data());
  return bytes;
}

ReplyPtr ReplyWithin(std::size_t limit, Session& session, const RequestView& request) {
  try {
    ReplyPtr reply = session.Serve(request);
    if (reply->envelope().size() <= limit) return reply;
    throw Error("MESSAGE_TOO_LARGE", "the answer has " + std::to_string(reply->envelope().size()) + " bytes, and " +
                                         std::to_string(limit) + " are allowed (--max-message-bytes of the server)");
  } catch (const Error& error) {
    return ErrorReply(error);
  }
}

}  // namespace

// What the server is told; it reads this memory now and then.
struct LentConnections::Counts {
  std::atomic<std::uint64_t> begun;  // nanoseconds of the monotonic clock; 0 for no request
  std::atomic<std::uint64_t> requests;
  std::atomic<std::uint64_t> steps;
  std::atomic<std::uint64_t> serving;  // nanoseconds
};

// Counts a request for the lifetime of this object.
class LentConnections::Counting {
 public:
  Counting(Counts& counts, const Session& session)
      : counts_(counts), session_(session), begun_(Now()), steps_(session.steps()) {
    Set(counts_.begun, begun_);
  }
  ~Counting() {
    Set(counts_.requests, Get(counts_.requests) + 1);
    Set(counts_.steps, Get(counts_.steps) + session_.steps() - steps_);
    Set(counts_.serving, Get(counts_.serving) + Now() - begun_);
    Set(counts_.begun, 0);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  static std::uint64_t Now() {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  }
  static std::uint64_t Get(const std::atomic<std::uint64_t>& count) { return count.load(std::memory_order_relaxed); }
  static void Set(std::atomic<std::uint64_t>& count, std::uint64_t value) {
    count.store(value, std::memory_order_relaxed);
  }

  Counts& counts_;
  const Session& session_;
  const std::uint64_t begun_;
  const std::uint64_t steps_;
};

std::unique_ptr<LentConnections> LentConnections::FromEnvironment(int channel) {
  std::optional<Descriptor> connections = Inherited(kConnections);
  std::optional<Descriptor> memory = Inherited(kCounts);
  if (!connections || !memory) return nullptr;
  void* mapped = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, memory->get(), 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* counts = static_cast<Counts*>(mapped);
  return std::unique_ptr<LentConnections>(new LentConnections(channel, std::move(*connections), counts));
}

LentConnections::LentConnections(int channel, Descriptor connections, Counts* counts)
    : channel_(channel), connections_(std::move(connections)), counts_(counts) {}

LentConnections::~LentConnections() { munmap(counts_, sizeof(Counts)); }

void LentConnections::Describe(v1::MakeResponse* made) {
  made->add_capabilities("direct");
  if (kHasMailboxes) made->add_capabilities("mailbox");
}

// What is left of a connection that is given back.
struct LentConnections::Left {
  bool open = false;     // whether the client is still there
  std::string unsent;    // the part of the last answer that the client did not take
  std::string unserved;  // what came and was not served
};

std::string LentConnections::Serve(Session& session, std::string_view loan) {
  const Loan lent = ReadLoan(loan);
  std::vector<Descriptor> came;
  std::array<char, kLineBytes> line{};
  ReceiveWith(connections_.get(), line.data(), line.size(), &came);
  if (came.empty()) throw ConnectionError("the server lent a connection without its descriptor", false, true);
  MailboxSocket socket(std::move(came[0]), "a client", MailboxSocket::End::kServer);
  const bool boxed = lent.box_bytes > 0 && came.size() > 1 && socket.UseMailbox(came[1], lent.box_bytes);
  if (boxed) socket.ResumeMailbox(lent.taken, lent.put);
  socket.set_interrupt(channel_);
  const Left left = ServeRequests(session, socket, lent.limit);
  const auto [taken, put] = boxed ? socket.LeaveMailbox() : std::make_pair(lent.taken, lent.put);
  const Returned returned{left.open, taken, put, 0, static_cast<std::uint32_t>(left.unsent.size())};
  return std::string(reinterpret_cast<const char*>(&returned), sizeof(returned)) + left.unsent + left.unserved;
}

LentConnections::Left LentConnections::ServeRequests(Session& session, MailboxSocket& socket, std::size_t limit) {
  FrameReader reader(socket, limit);
  FrameReader::Header header{};  // of the frame that is being read; empty for none
  Left left;
  try {
    Clock::time_point looked = Clock::now();
    while (left.unsent.empty()) {
      // A client that never lets the socket wait is interrupted as well.
      if (const Clock::time_point now = Clock::now(); now - looked > kLook) {
        looked = now;
        if (IsReadable(channel_)) throw Interrupted();
      }
      header = reader.ReadHeader(Clock::now() + kIdle);
      if (header.attachments > 0) return {};  // the boundaries of later frames are unknown
      const std::string_view message = reader.Read(header.message, Clock::now() + kIdle);
      const std::optional<RequestView> request = ServedHere(message);
      if (!request) {
        left.unserved = HeaderOf(header).append(message);
        break;
      }
      header = {};
      ReplyPtr reply;
      {  // the time for which the client does not read its answer is none of the environment's
        const Counting counting(*counts_, session);
        reply = ReplyWithin(limit, session, *request);
      }
      left.unsent = socket.WriteUntil(reply->frame(), Clock::now() + kPatience);
    }
  } catch (const Interrupted&) {
    if (!header.IsEmpty()) left.unserved = HeaderOf(header);  // the part of its message that came follows
  } catch (const Error&) {                                    // the client is gone
    return {};
  }
  left.open = true;
  left.unserved += reader.TakeRest();
  return left;
}

}  // namespace envwire::internal
