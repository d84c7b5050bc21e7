// Unary calls and the stream, over gRPC. Requests go out as the bytes that they are, so that a repeat is the same.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "envwire/options.hpp"
#include "transports/transport.h"

namespace envwire::internal {

// A connection to one server, shared by the transports that use it.
class GrpcConnection {
 public:
  GrpcConnection(const std::string& target, const ConnectOptions& options);

  std::shared_ptr<grpc::GenericStub> stub();
  // Takes another channel in place of `failed`: it dials at once, where the old one would pause by its own schedule,
  // which knows nothing of leases.
  void Renew(const std::shared_ptr<grpc::GenericStub>& failed);
  // Prepares the context of a call: its deadline and the client's token.
  void Prepare(grpc::ClientContext* context, Clock::time_point deadline) const;
  const std::string& target() const { return target_; }

 private:
  std::string target_;
  std::optional<Tls> tls_;
  std::string authorization_;
  std::mutex mutex_;
  std::shared_ptr<grpc::GenericStub> stub_;
};

class UnaryTransport : public Transport {
 public:
  explicit UnaryTransport(std::shared_ptr<GrpcConnection> connection) : connection_(std::move(connection)) {}

  const char* name() const override { return "unary"; }
  bool holds_lease() const override { return false; }
  void Exchange(const Request& request, const std::string& header, Clock::time_point deadline, Answer* answer) override;

 private:
  std::shared_ptr<GrpcConnection> connection_;
};

class StreamTransport : public Transport {
 public:
  explicit StreamTransport(std::shared_ptr<GrpcConnection> connection) : connection_(std::move(connection)) {}
  ~StreamTransport() override { Drop(); }

  const char* name() const override { return "stream"; }
  bool holds_lease() const override { return call_ != nullptr; }
  void Exchange(const Request& request, const std::string& header, Clock::time_point deadline, Answer* answer) override;

 private:
  void Open(Clock::time_point deadline);
  bool Await(Clock::time_point deadline);
  [[noreturn]] void Broken(Clock::time_point deadline);
  void Drop();

  std::shared_ptr<GrpcConnection> connection_;
  std::shared_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

}  // namespace envwire::internal
