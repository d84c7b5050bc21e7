#include "transports/direct.h"

#include <algorithm>
#include <limits>
#include <new>

#include "transports/frames.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

// Before the welcome tells the server's limit: more than a hello's answer needs.
constexpr std::size_t kFirstLimit = std::size_t{64} * 1024;
// A firewall that drops packets must not cost a client long; a server that is there answers in milliseconds.
constexpr std::chrono::seconds kDial{3};
// Bounds all attempts together: a server may offer any number of addresses where nobody answers.
constexpr std::chrono::seconds kDialAll{6};
constexpr std::size_t kMostAddresses = 8;

// The addresses to try from here, each with its host.
std::vector<std::string> Usable(const v1::MakeResponse& made, const std::string& dialled, bool unix_sockets) {
  const std::string host = SplitAddress(made.address().empty() ? dialled : made.address()).host;
  const bool here = unix_sockets && IsHere(SplitAddress(dialled).host);
  std::vector<std::string> usable;
  for (const std::string& address : made.direct().addresses()) {
    if (usable.size() == kMostAddresses) break;
    if (IsUnix(address)) {
      if (here) usable.push_back(address);
    } else if (!address.empty() && address.front() == ':') {
      usable.push_back(host.find(':') == std::string::npos ? host : "[" + host + "]");
      usable.back() += address;
    } else if (address.find(':') != std::string::npos) {
      usable.push_back(address);
    }
  }
  return usable;
}

}  // namespace

DirectChannel::DirectChannel(const std::string& address, const std::optional<Tls>& tls, const v1::HelloRequest& hello,
                             Clock::time_point deadline)
    : socket_(Connect(address, tls, deadline)), reader_(*socket_, kFirstLimit) {
  const std::string frame = std::string(kPreamble, sizeof(kPreamble)) + FrameOf(hello);
  socket_->Write(frame.data(), frame.size(), deadline);
  const FrameReader::Header header = reader_.ReadHeader(deadline);
  v1::HelloResponse response;
  ReadMessage(header.message, deadline, &response);
  if (response.has_error()) throw ErrorFrom(response.error());
  if (!response.has_welcome()) throw ConnectionError(address + " does not speak envwire", false, true);
  limit_ = response.welcome().max_message_bytes();
  reader_.set_limit(limit_);
  UseMailbox(response.welcome());
  RequireNoMore();
}

void DirectChannel::UseMailbox(const v1::Welcome& welcome) {
  auto* local = dynamic_cast<MailboxSocket*>(socket_.get());
  if (local == nullptr) return;
  const Descriptor memory = local->TakeDescriptor();
  if (welcome.has_mailbox()) local->UseMailbox(memory, welcome.mailbox().box_bytes());
}

// What nobody has asked for yet would be taken for the next answer.
void DirectChannel::RequireNoMore() const {
  if (!reader_.empty()) throw ConnectionError("the server sent more than it was asked for", false, true);
}

template <class Message>
void DirectChannel::ReadMessage(std::size_t size, Clock::time_point deadline, Message* message) {
  const bool countable = size <= std::numeric_limits<int>::max();  // by protobuf
  if (!countable || !message->ParseFromArray(reader_.Read(size, deadline).data(), static_cast<int>(size))) {
    throw ConnectionError("the server sent a frame that cannot be read", false, true);
  }
}

// Receives elements where they stay: arrays share this memory.
Attachments DirectChannel::ReadAttachments(std::size_t size, Clock::time_point deadline) {
  if (size == 0) return {};
  std::shared_ptr<char> data(new (std::nothrow) char[size], std::default_delete<char[]>());
  if (!data) throw Error("MESSAGE_TOO_LARGE", "there is no memory for an answer of " + std::to_string(size) + " bytes");
  reader_.ReadInto(data.get(), size, deadline);
  return {data, size};
}

void DirectChannel::Exchange(const std::string& frame, Clock::time_point deadline, Answer* answer) {
  socket_->Write(frame.data(), frame.size(), deadline);
  answer->message.Clear();  // the last answer; parsing would do it when the server has been waited for
  const FrameReader::Header header = reader_.ReadHeader(deadline);
  ReadMessage(header.message, deadline, &answer->message);
  answer->attachments = ReadAttachments(header.attachments, deadline);
  RequireNoMore();
}

DirectTransport::DirectTransport(const v1::MakeResponse& made, const std::string& dialled, std::optional<Tls> tls,
                                 bool unix_sockets, std::unique_ptr<Transport> larger)
    : tls_(std::move(tls)), larger_(std::move(larger)) {
  hello_.mutable_header()->set_session_id(made.session_id());
  hello_.mutable_header()->set_secret(made.secret());
  std::string why = "the session has none";
  const Clock::time_point deadline = Clock::now() + kDialAll;
  for (const std::string& address : Usable(made, dialled, unix_sockets)) {
    try {
      Open(address, deadline);  // a forwarded port may lead to another server: then the next one is tried
      return;
    } catch (const Error& error) {
      why = error.what();
    }
    if (Clock::now() >= deadline) break;
  }
  throw Error("UNAVAILABLE",
              "no direct channel to " + dialled + ": " + why + "; TransportKind::kAuto falls back to gRPC");
}

void DirectTransport::Open(const std::string& address, Clock::time_point deadline) {
  address_ = address;
  hello_.set_mailbox(kHasMailboxes && IsUnix(address));
  channel_ = std::make_unique<DirectChannel>(address, tls_, hello_, std::min(deadline, Clock::now() + kDial));
}

void DirectTransport::Exchange(const Request& request, const std::string& header, Clock::time_point deadline,
                               Answer* answer) {
  try {
    if (!channel_) Open(address_, deadline);
  } catch (const ConnectionError& error) {
    if (!error.refused) throw;
    // The session's server is gone. The one that listens at the target now, if any, knows that the session is lost.
    larger_->Exchange(request, header, deadline, answer);
    return;
  } catch (const Error& error) {
    // A session that serves a request does not answer a hello before it is done: it is tried again, while there is
    // time.
    if (error.reason() == "DEADLINE_EXCEEDED" && Clock::now() < deadline)
      throw ConnectionError(error.what(), false, true);
    throw;
  }
  WriteRequestFrame(request, &frame_);
  if (frame_.size() - kFrameHeaderBytes > channel_->max_message_bytes()) {
    larger_->Exchange(request, header, deadline, answer);
    return;
  }
  try {
    channel_->Exchange(frame_, deadline, answer);
    CheckKind(request, *answer);
  } catch (...) {
    channel_.reset();  // an answer that comes late belongs to nothing
    throw;
  }
}

}  // namespace envwire::internal
