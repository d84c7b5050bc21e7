// Serving: the parts of a server, put together.
#include <pthread.h>
#include <signal.h>

#include "kit/ports/direct_server.h"
#include "kit/ports/grpc_server.h"

namespace envwire {

class Server::Parts {
 public:
  Parts(Registry registry, const ServeOptions& options) : options_(options), service_(std::move(registry), options_) {
    if (options_.direct) direct_ = std::make_unique<internal::DirectServer>(service_, options_);
    grpc_ = std::make_unique<internal::GrpcServer>(service_, options_);
    target_ = options_.host + ":" + std::to_string(grpc_->port());
  }
  ~Parts() {
    grpc_->Drain();
    service_.sessions().Drain();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const std::string& target() const { return target_; }

 private:
  const ServeOptions options_;
  internal::Service service_;
  std::unique_ptr<internal::DirectServer> direct_;
  std::unique_ptr<internal::GrpcServer> grpc_;
  std::string target_;
};

Server::Server(Registry registry, const ServeOptions& options)
    : parts_(std::make_unique<Parts>(std::move(registry), options)) {}
Server::~Server() = default;
const std::string& Server::target() const { return parts_->target(); }

void Serve(Registry registry, const ServeOptions& options, const std::function<void(const std::string&)>& listening) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const Server server(std::move(registry), options);
  if (listening) listening(server.target());
  int signal = 0;
  sigwait(&ends, &signal);
}

}  // namespace envwire
