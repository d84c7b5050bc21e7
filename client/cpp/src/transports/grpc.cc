#include "transports/grpc.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include "transports/frames.h"
#include "transports/grpc_bytes.h"
#include "transports/methods.h"
#include "transports/socket.h"

namespace envwire::internal {
namespace {

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::optional<Tls>& tls) {
  if (!tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls->root_certificates;
  options.pem_cert_chain = tls->certificate_chain;
  options.pem_private_key = tls->private_key;
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target, const std::optional<Tls>& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // the server's own limit decides
  arguments.SetMaxSendMessageSize(-1);
  // No message is decompressed: a few bytes of a server could fill this process's memory.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // as the direct channel; gRPC takes http_proxy even for loopback
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  if (tls && !tls->server_name.empty()) arguments.SetSslTargetNameOverride(tls->server_name);
  return grpc::CreateCustomChannel(target, CredentialsOf(tls), arguments);
}

// gRPC takes deadlines of the system's clock.
std::chrono::system_clock::time_point SystemTime(Clock::time_point deadline) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - Clock::now());
}

void ReadError(const grpc::Status& status, v1::ErrorStatus* error) {
  if (!error->ParseFromString(status.error_details()) || error->code() == 0) {
    error->set_code(status.error_code());
    error->set_message(status.error_message());
  }
}

// A status without details comes from gRPC itself: no connection, or a deadline.
[[noreturn]] void ThrowTransportError(const grpc::Status& status, const std::string& target) {
  const bool refused = status.error_message().find("refused") != std::string::npos;
  const std::string what = target + ": " + status.error_message() +
                           (refused ? "; start a server there (envwire serve ...), or correct the address" : "");
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) throw Error("DEADLINE_EXCEEDED", what);
  const bool connected = status.error_message().find("failed to connect") == std::string::npos;
  throw ConnectionError(what, refused, connected && !refused);
}

bool IsTransportError(const grpc::Status& status) {
  return status.error_details().empty() &&
         (status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::CANCELLED ||
          status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
}

// Puts the serialised answer of one method into the field of the same name.
void ReadAnswer(Kind kind, const std::string& body, v1::InteractResponse* message) {
  std::string envelope;
  AppendEnvelope({kind, body}, "", &envelope);
  if (!message->ParseFromString(envelope)) throw ConnectionError("an answer could not be read", false, true);
}

// Whether all addresses of a gRPC target are on this machine.
bool StaysHere(const std::string& target) {
  if (IsUnix(target) || target.rfind("unix:", 0) == 0) return true;
  static const std::regex scheme("^(dns|ipv4|ipv6):(//[^/]*/)?");
  std::istringstream addresses(std::regex_replace(target, scheme, ""));
  for (std::string each; std::getline(addresses, each, ',');) {
    if (!IsHere(SplitAddress(each).host)) return false;
  }
  return true;
}

// The header that holds the token; empty if there is none.
std::string Authorization(const std::string& target, const ConnectOptions& options) {
  const std::string& token = options.token;
  if (token.empty()) return "";
  // gRPC ends the process over a header that it cannot send.
  if (!std::all_of(token.begin(), token.end(), [](char each) { return each >= ' ' && each <= '~'; })) {
    throw Error("INVALID_ARGUMENT",
                "the token holds characters that no token has: give the line that `envwire token` printed");
  }
  if (!options.tls && !options.insecure && !StaysHere(target)) {
    throw Error("INVALID_ARGUMENT", "the token is not sent to " + target +
                                        " without TLS, where anyone on the way could read and use it: give `tls`, or "
                                        "`insecure` if the network is trusted");
  }
  return "Bearer " + token;
}

}  // namespace

GrpcConnection::GrpcConnection(const std::string& target, const ConnectOptions& options)
    : target_(target),
      tls_(options.tls),
      authorization_(Authorization(target, options)),
      stub_(std::make_shared<grpc::GenericStub>(ChannelTo(target, options.tls))) {}

std::shared_ptr<grpc::GenericStub> GrpcConnection::stub() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stub_;
}

void GrpcConnection::Renew(const std::shared_ptr<grpc::GenericStub>& failed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stub_ == failed) stub_ = std::make_shared<grpc::GenericStub>(ChannelTo(target_, tls_));
}

void GrpcConnection::Prepare(grpc::ClientContext* context, Clock::time_point deadline) const {
  context->set_deadline(SystemTime(deadline));
  if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
}

void UnaryTransport::Exchange(const Request& request, const std::string& header, Clock::time_point deadline,
                              Answer* answer) {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  connection_->Prepare(&context, deadline);
  const std::string method = std::string(kService) + kMethods.at(static_cast<std::size_t>(request.kind));
  const std::shared_ptr<grpc::GenericStub> stub = connection_->stub();
  const auto call = stub->PrepareUnaryCall(&context, method, BufferOf(header + request.body), &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);  // ends by the call's own deadline
  if (!status.ok() && IsTransportError(status)) {
    connection_->Renew(stub);
    ThrowTransportError(status, connection_->target());
  }
  answer->attachments = {};
  if (status.ok()) {
    ReadAnswer(request.kind, BytesOf(response), &answer->message);
  } else {
    answer->message.Clear();
    ReadError(status, answer->message.mutable_error());
  }
}

void StreamTransport::Open(Clock::time_point deadline) {
  context_ = std::make_unique<grpc::ClientContext>();
  queue_ = std::make_unique<grpc::CompletionQueue>();
  connection_->Prepare(context_.get(),
                       Clock::time_point(std::chrono::hours(24 * 365) + Clock::now().time_since_epoch()));
  stub_ = connection_->stub();
  call_ = stub_->PrepareCall(context_.get(), std::string(kService) + "Interact", queue_.get());
  call_->StartCall(nullptr);
  if (!Await(deadline)) Broken(deadline);
}

// Waits for the one operation that is under way; returns whether it succeeded.
bool StreamTransport::Await(Clock::time_point deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_->AsyncNext(&tag, &ok, SystemTime(deadline)) == grpc::CompletionQueue::GOT_EVENT) return ok;
  Drop();
  throw Error("DEADLINE_EXCEEDED", "no answer from " + connection_->target() + " in time");
}

void StreamTransport::Broken(Clock::time_point deadline) {
  grpc::Status status;
  call_->Finish(&status, nullptr);
  Await(std::min(deadline, Clock::now() + std::chrono::seconds(1)));
  Drop();
  if (status.ok() || IsTransportError(status)) {
    connection_->Renew(stub_);
    ThrowTransportError(status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended") : status,
                        connection_->target());
  }
  v1::ErrorStatus error;
  ReadError(status, &error);
  throw ErrorFrom(error);
}

// Cancels the stream and waits until gRPC has let go of it.
void StreamTransport::Drop() {
  if (!context_) return;
  context_->TryCancel();
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
  call_.reset();
  queue_.reset();
  context_.reset();
}

void StreamTransport::Exchange(const Request& request, const std::string& header, Clock::time_point deadline,
                               Answer* answer) {
  if (!call_) Open(deadline);
  std::string envelope;
  AppendEnvelope(request, header, &envelope);
  call_->Write(BufferOf(envelope), nullptr);
  if (!Await(deadline)) Broken(deadline);
  grpc::ByteBuffer response;
  call_->Read(&response, nullptr);
  if (!Await(deadline)) Broken(deadline);
  answer->attachments = {};
  try {
    if (!answer->message.ParseFromString(BytesOf(response))) {
      throw ConnectionError("an answer could not be read", false, true);
    }
    CheckKind(request, *answer);
  } catch (...) {
    Drop();
    throw;
  }
}

}  // namespace envwire::internal
