#include "kit/direct_channel.h"

#include <cstring>
#include <limits>

#include "envwire/v1/direct.pb.h"
#include "kit/faults.h"
#include "transports/frame_reader.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kMostHelloBytes = 1024;
constexpr std::size_t kMostMakeBytes = std::size_t{1} << 20U;
// A client that reads nothing for so long while it is answered loses the channel.
constexpr std::chrono::seconds kWrite{30};
// What comes behind a refused hello is thrown away, so that the client gets the error.
constexpr std::chrono::seconds kRefused{1};
constexpr std::size_t kRefusedBytes = std::size_t{1} << 20U;
constexpr std::chrono::hours kIdle{24 * 365};

void Send(Socket& socket, const v1::HelloResponse& response) {
  std::string frame(kFrameHeaderBytes, '\0');
  PutFrameHeader(response.ByteSizeLong(), 0, frame.data());
  response.AppendToString(&frame);
  socket.Write(frame.data(), frame.size(), Clock::now() + kWrite);
}

void Welcome(Socket& socket, std::size_t max_message_bytes) {
  v1::HelloResponse response;
  response.mutable_welcome()->set_max_message_bytes(max_message_bytes);
  Send(socket, response);
}

void Refuse(Socket& socket, const std::exception& thrown) {
  v1::HelloResponse response;
  *response.mutable_error() = StatusOf(thrown);
  Send(socket, response);
  std::string rest(1U << 16U, '\0');
  const Clock::time_point deadline = Clock::now() + kRefused;
  for (std::size_t read = 0; read < kRefusedBytes;) read += socket.Read(rest.data(), rest.size(), deadline);
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

// Makes a session for a client that shows the token, and tells it.
SessionPtr MakeHere(Service& service, Socket& socket, FrameReader& reader, const std::string& token,
                    const ServeOptions& options) {
  if (!options.token.empty() && !SameSecret(token, options.token)) {
    throw Error("UNAUTHENTICATED", "this server asks for a token");
  }
  const Clock::time_point deadline = Clock::now() + kWrite;
  const FrameReader::Header header = reader.ReadHeader(deadline);
  if (header.message > kMostMakeBytes) throw Error("MESSAGE_TOO_LARGE", "a Make has at most 1 MiB");
  SessionPtr session;
  const ReplyPtr reply =
      service.maker().Make(reader.Read(header.message, deadline), [&](const SessionPtr& made) { session = made; });
  v1::HelloResponse response;
  const std::string_view body = reply->body();
  response.mutable_made()->ParseFromArray(body.data(), static_cast<int>(body.size()));
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

ReplyPtr Answered(Session& session, std::string_view message) {
  try {
    const RequestView request = Unwrap(message);
    if (!GoesHere(request.kind)) throw Error("MALFORMED_REQUEST", "this request does not go over a direct channel");
    return session.Serve(request);
  } catch (const Error& error) {
    return ErrorReply(error);
  }
}

void ServeRequests(Session& session, Socket& socket, FrameReader& reader) {
  while (session.ended() == nullptr) {
    const Clock::time_point deadline = Clock::now() + kIdle;
    const FrameReader::Header header = reader.ReadHeader(deadline);
    if (header.attachments > 0) return;  // what comes next cannot be told from what came before
    const ReplyPtr reply = Answered(session, reader.Read(header.message, deadline));
    socket.Write(reply->frame().data(), reply->frame().size(), Clock::now() + kWrite);
  }
}

}  // namespace

void ServeChannel(Service& service, const std::shared_ptr<Socket>& socket, Clock::time_point hello_deadline,
                  const ServeOptions& options, const std::function<void()>& heard) {
  FrameReader reader(*socket, std::numeric_limits<std::size_t>::max());
  if (reader.Read(sizeof(kPreamble), hello_deadline) != std::string_view(kPreamble, sizeof(kPreamble))) return;
  SessionPtr session;
  try {
    const v1::HelloRequest hello = ReadHello(reader, hello_deadline);
    heard();
    session = hello.has_make() ? MakeHere(service, *socket, reader, hello.make().token(), options)
                               : service.sessions().FindLive(hello.header());
  } catch (const Error& error) {
    if (error.reason() == "UNAVAILABLE" || error.reason() == "DEADLINE_EXCEEDED") throw;
    heard();
    return Refuse(*socket, error);
  } catch (const std::exception& raised) {  // by an environment that is being made
    return Refuse(*socket, raised);
  }
  const Hold hold(session);
  session->TakeChannel([open = std::weak_ptr<Socket>(socket)] {  // a session that ended shall hold no descriptor
    if (const std::shared_ptr<Socket> earlier = open.lock()) earlier->Shutdown();
  });
  Welcome(*socket, options.max_message_bytes);
  reader.set_limit(options.max_message_bytes);
  ServeRequests(*session, *socket, reader);
}

}  // namespace envwire::internal
