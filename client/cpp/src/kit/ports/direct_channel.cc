#include "kit/ports/direct_channel.h"

#include <cstring>
#include <limits>

#include "envwire/v1/direct.pb.h"
#include "kit/faults.h"
#include "random/secrets.h"
#include "transports/frame_reader.h"
#include "transports/frames.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kMostHelloBytes = 1024;
constexpr std::chrono::seconds kMake{5};
// A client that reads nothing for this time while an answer is sent loses the channel.
constexpr std::chrono::seconds kWrite{30};

// Data after a refused hello is discarded, so that the client can read the error.
struct Discarded {
  std::size_t bytes;
  std::chrono::seconds time;
};
constexpr Discarded kOfStrangers{std::size_t{1} << 20U, std::chrono::seconds{1}};
// The same after an accepted `make`.
constexpr Discarded kOfClients{std::size_t{1} << 26U, std::chrono::seconds{5}};
constexpr std::chrono::hours kIdle{24 * 365};

void Send(Socket& socket, const v1::HelloResponse& response) {
  const std::string frame = FrameOf(response);
  socket.Write(frame.data(), frame.size(), Clock::now() + kWrite);
}

// Welcomes a client; on a Unix socket with a mailbox, if it requested one and there is memory.
void Welcome(Socket& socket, const v1::HelloRequest& hello, std::size_t max_message_bytes) {
  v1::HelloResponse response;
  response.mutable_welcome()->set_max_message_bytes(max_message_bytes);
  auto* local = dynamic_cast<MailboxSocket*>(&socket);
  if (!kHasMailboxes || !hello.mailbox() || local == nullptr) return Send(socket, response);
  const Descriptor memory = MakeMailboxMemory(kBoxBytes);
  if (!local->UseMailbox(memory, kBoxBytes)) return Send(socket, response);
  response.mutable_welcome()->mutable_mailbox()->set_box_bytes(kBoxBytes);
  const std::string frame = FrameOf(response);
  local->WriteWith(memory, frame.data(), frame.size(), Clock::now() + kWrite);
}

void Refuse(Socket& socket, const std::exception& thrown, const Discarded& discarded) {
  v1::HelloResponse response;
  *response.mutable_error() = StatusOf(thrown);
  Send(socket, response);
  socket.EndWriting();
  std::string rest(1U << 16U, '\0');
  const Clock::time_point deadline = Clock::now() + discarded.time;
  for (std::size_t read = 0; read < discarded.bytes;) read += socket.Read(rest.data(), rest.size(), deadline);
}

v1::HelloRequest ReadHello(FrameReader& reader, Clock::time_point deadline) {
  const FrameReader::Header header = reader.ReadHeader(deadline);
  if (header.message > kMostHelloBytes || header.attachments > 0) {
    throw Error("MALFORMED_REQUEST", "a hello has at most 1,024 bytes");
  }
  v1::HelloRequest hello;
  const std::string_view bytes = reader.Read(header.message, deadline);
  if (!hello.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || hello.has_make() == hello.has_header()) {
    throw Error("MALFORMED_REQUEST", "the hello cannot be read, or names no session");
  }
  return hello;
}

void CheckToken(const std::string& token, const ServeOptions& options) {
  if (options.token.empty() || SameSecret(token, options.token)) return;
  throw Error("UNAUTHENTICATED", "this server asks for a token");
}

// Makes a session, and answers its client; `heard` is called when the request has arrived.
SessionPtr MakeHere(Service& service, Socket& socket, FrameReader& reader, const ServeOptions& options,
                    const std::function<void()>& heard, bool takes_connections) {
  const Clock::time_point deadline = Clock::now() + kMake;
  const FrameReader::Header header = reader.ReadHeader(deadline);
  if (header.message > options.max_message_bytes || header.attachments > 0) {
    throw Error("MALFORMED_REQUEST", "a MakeRequest is larger than the server takes, or has attachments");
  }
  const std::string_view request = reader.Read(header.message, deadline);
  heard();
  SessionPtr session;
  const ReplyPtr reply = service.maker().Make(request, [&](const SessionPtr& made) { session = made; });
  v1::HelloResponse response;
  const std::string_view body = reply->body();
  response.mutable_made()->ParseFromArray(body.data(), static_cast<int>(body.size()));
  if (takes_connections) LentConnections::Describe(response.mutable_made());
  Send(socket, response);
  return session;
}

// The numbered requests; the others do not go here.
bool GoesHere(Kind kind) {
  switch (kind) {
    case Kind::kMake:
    case Kind::kListEnvironments:
    case Kind::kGetServerInfo:
    case Kind::kRenewLease:
    case Kind::kGetSessionStats: return false;
    default: return true;
  }
}

ReplyPtr Answered(Session& session, std::string_view message, bool is_own) {
  try {
    const RequestView request = Unwrap(message);
    if (!GoesHere(request.kind)) throw Error("MALFORMED_REQUEST", "this request does not go over a direct channel");
    return is_own ? session.ServeOwn(request) : session.Serve(request);
  } catch (const Error& error) {
    return ErrorReply(error);
  }
}

// Serves a connection that the server lent, and gives it back.
void ServeLent(Session& session, Socket& socket, LentConnections& lent, std::string_view loan) {
  const std::string returned = lent.Serve(session, loan);
  std::string frame(kFrameHeaderBytes, '\0');
  PutFrameHeader(returned.size(), 0, frame.data());
  frame += returned;
  socket.Write(frame.data(), frame.size(), Clock::now() + kWrite);
}

void ServeRequests(Session& session, Socket& socket, FrameReader& reader, LentConnections* lent) {
  while (session.ended() == nullptr) {
    const Clock::time_point deadline = Clock::now() + kIdle;
    const FrameReader::Header header = reader.ReadHeader(deadline);
    if (header.attachments > 0) return;  // the boundaries of later frames are unknown
    const std::string_view message = reader.Read(header.message, deadline);
    const auto sent = static_cast<Sent>(header.slot);
    if (sent == Sent::kLoan && lent != nullptr) {
      ServeLent(session, socket, *lent, message);
      continue;
    }
    if (sent == Sent::kRecall) continue;  // it was given back already
    const ReplyPtr reply = Answered(session, message, sent == Sent::kOwnRequest);
    socket.Write(reply->frame().data(), reply->frame().size(), Clock::now() + kWrite);
  }
}

}  // namespace

void ServeChannel(Service& service, const std::shared_ptr<Socket>& socket, Clock::time_point hello_deadline,
                  const ServeOptions& options, const std::function<void()>& heard, LentConnections* lent) {
  FrameReader reader(*socket, std::numeric_limits<std::size_t>::max());
  if (reader.Read(sizeof(kPreamble), hello_deadline) != std::string_view(kPreamble, sizeof(kPreamble))) return;
  SessionPtr session;
  v1::HelloRequest hello;
  Discarded discarded = kOfStrangers;
  try {
    hello = ReadHello(reader, hello_deadline);
    if (hello.has_make()) {
      CheckToken(hello.make().token(), options);
      discarded = kOfClients;
      session = MakeHere(service, *socket, reader, options, heard, lent != nullptr);
    } else {
      session = service.sessions().FindLive(hello.header());
    }
  } catch (const Error& error) {
    if (error.reason() == "UNAVAILABLE" || error.reason() == "DEADLINE_EXCEEDED") throw;
    return Refuse(*socket, error, discarded);
  } catch (const std::exception& raised) {  // by an environment that is being made
    return Refuse(*socket, raised, discarded);
  }
  heard();
  const Hold hold(session);
  session->TakeChannel([open = std::weak_ptr<Socket>(socket)] {  // a session that ended shall hold no descriptor
    if (const std::shared_ptr<Socket> earlier = open.lock()) earlier->Shutdown();
  });
  Welcome(*socket, hello, options.max_message_bytes);
  reader.set_limit(options.max_message_bytes);
  reader.set_takes_slots(lent != nullptr);
  ServeRequests(*session, *socket, reader, lent);
}

}  // namespace envwire::internal
