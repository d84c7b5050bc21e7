#include "kit/ports/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>

#include "random/secrets.h"
#include "transports/grpc_bytes.h"
#include "transports/methods.h"

namespace envwire::internal {
namespace {

constexpr char kHealthName[] = "envwire.v1.EnvironmentService";
// Each call that is served takes a thread, and each stream: two for each session, and room for others.
constexpr int kMoreThreads = 64;

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const std::optional<Tls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(tls->root_certificates.empty()
                                                ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->root_certificates;
  options.pem_key_cert_pairs.push_back({tls->private_key, tls->certificate_chain});
  return grpc::SslServerCredentials(options);
}

// gRPC adds reflection to every server of a program that is linked with it. A server that requires a token removes
// it, since it answers unauthenticated clients.
class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    const auto reflects = [](const auto& plugin) {
      return dynamic_cast<grpc::reflection::ProtoServerReflectionPlugin*>(plugin.get()) != nullptr;
    };
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(), reflects), plugins->end());
  }
};

// An error of a unary call: its status, with all details in the trailing metadata.
grpc::Status StatusFor(const Reply& reply) {
  v1::ErrorStatus error;
  const std::string_view body = reply.body();
  error.ParseFromArray(body.data(), static_cast<int>(body.size()));
  return {static_cast<grpc::StatusCode>(error.code()), error.message(), std::string(body)};
}

}  // namespace

// The methods of the service, of which gRPC's generated code would know the messages. Here they are bytes: a session
// compares requests by those.
class GrpcServer::Methods : public grpc::Service {
 public:
  Methods(internal::Service& service, const ServeOptions& options) : service_(service), options_(options) {
    for (std::size_t field = 0; field < kMethods.size(); ++field) {
      if (*kMethods[field] != '\0') AddUnary(static_cast<Kind>(field));
    }
    using Handler = grpc::internal::BidiStreamingHandler<Methods, grpc::ByteBuffer, grpc::ByteBuffer>;
    interact_ = std::string(kService) + "Interact";
    AddMethod(new grpc::internal::RpcServiceMethod(
        interact_.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING,
        new Handler([](Methods* self, grpc::ServerContext* context,
                       Stream* stream) { return self->Interact(*context, stream); },
                    this)));
  }

 private:
  using Stream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  void AddUnary(Kind kind) {
    using Handler = grpc::internal::RpcMethodHandler<Methods, grpc::ByteBuffer, grpc::ByteBuffer>;
    names_[kind] = std::string(kService) + kMethods[static_cast<std::size_t>(kind)];
    AddMethod(new grpc::internal::RpcServiceMethod(
        names_[kind].c_str(), grpc::internal::RpcMethod::NORMAL_RPC,
        new Handler([kind](Methods* self, grpc::ServerContext* context, const grpc::ByteBuffer* request,
                           grpc::ByteBuffer* response) { return self->Unary(kind, *context, *request, response); },
                    this)));
  }

  grpc::Status Unary(Kind kind, const grpc::ServerContext& context, const grpc::ByteBuffer& request,
                     grpc::ByteBuffer* response) {
    if (!LetIn(context)) return StatusFor(*Refusal());
    const std::string body = BytesOf(request);
    SessionPtr session;
    std::optional<Hold> hold;
    const ReplyPtr reply = service_.Serve({kind, body}, [&](const SessionPtr& used) {
      session = used;
      hold.emplace(used);
    });
    if (kind == Kind::kMake && session && context.IsCancelled()) session->End("SESSION_CLOSED");
    if (reply->failed()) return StatusFor(*reply);
    *response = BufferOf(reply->body());
    return grpc::Status::OK;
  }

  // Answers one request after the other; the sessions that it used are held until the stream ends.
  grpc::Status Interact(const grpc::ServerContext& context, Stream* stream) {
    if (!LetIn(context)) return StatusFor(*Refusal());
    std::map<SessionPtr, Hold> held;
    const auto hold = [&](const SessionPtr& session) { held.try_emplace(session, session); };
    grpc::ByteBuffer message;
    while (stream->Read(&message)) {
      if (!stream->Write(BufferOf(Answered(BytesOf(message), hold)->envelope()))) break;
    }
    return grpc::Status::OK;
  }

  ReplyPtr Answered(const std::string& message, const Used& used) {
    try {
      return service_.Serve(Unwrap(message), used);
    } catch (const Error& malformed) {
      return ErrorReply(malformed);
    }
  }

  bool LetIn(const grpc::ServerContext& context) const {
    if (options_.token.empty()) return true;
    const auto shown = context.client_metadata().find("authorization");
    return shown != context.client_metadata().end() &&
           SameSecret({shown->second.data(), shown->second.size()}, "Bearer " + options_.token);
  }

  static ReplyPtr Refusal() { return ErrorReply(Error("UNAUTHENTICATED", "this server asks for a token")); }

  internal::Service& service_;
  const ServeOptions& options_;
  std::map<Kind, std::string> names_;
  std::string interact_;
};

GrpcServer::GrpcServer(Service& service, const ServeOptions& options)
    : methods_(std::make_unique<Methods>(service, options)) {
  grpc::EnableDefaultHealthCheckService(true);
  const auto most = static_cast<int>(options.max_message_bytes);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (!options.token.empty()) builder.SetOption(std::make_unique<WithoutReflection>());
  builder.SetMaxReceiveMessageSize(most);
  builder.SetMaxSendMessageSize(-1);  // the session bounds its answers
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(2 * static_cast<int>(options.max_sessions) + kMoreThreads);
  builder.SetResourceQuota(quota);
  const std::string host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
  const std::string address = host + ":" + std::to_string(options.port);
  builder.AddListeningPort(address, CredentialsOf(options.tls), &port_);
  builder.RegisterService(methods_.get());
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0) throw Error("UNAVAILABLE", "cannot listen on " + address);
  server_->GetHealthCheckService()->SetServingStatus(kHealthName, true);
}

void GrpcServer::Drain() { server_->GetHealthCheckService()->SetServingStatus(false); }

GrpcServer::~GrpcServer() { server_->Shutdown(std::chrono::system_clock::now()); }

}  // namespace envwire::internal
