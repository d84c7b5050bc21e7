// Serving: the parts of a server, put together.
#include <pthread.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "kit/ports/direct_channel.h"
#include "kit/ports/direct_server.h"
#include "kit/ports/grpc_server.h"

namespace envwire {
namespace {

// Names the socket that the server hands over when it runs this program with `--exec`.
constexpr char kChannel[] = "ENVWIRE_CHANNEL";
constexpr std::chrono::seconds kHello{5};

// Serves the one session of the server that started this program; the environment runs in this thread.
void ServeInherited(Registry registry, ServeOptions options, int fd) {
  unsetenv(kChannel);  // programs that the environment starts have no part in it
  options.direct = false;
  options.token.clear();
  internal::Service service(std::move(registry), options);
  const std::shared_ptr<internal::Socket> socket = internal::Adopt(internal::Descriptor(fd), "the server");
  const std::unique_ptr<internal::LentConnections> lent = internal::LentConnections::FromEnvironment(fd);
  try {
    internal::ServeChannel(
        service, socket, internal::Clock::now() + kHello, options, [] {}, lent.get());
  } catch (const Error&) {  // the server is gone
  }
  service.sessions().Drain();
}

}  // namespace

class Server::Parts {
 public:
  Parts(Registry registry, const ServeOptions& options)
      : options_(options), service_(std::move(registry), options_, options.polled ? &loop_ : nullptr) {
    if (options_.direct) direct_ = std::make_unique<internal::DirectServer>(service_, options_);
    grpc_ = std::make_unique<internal::GrpcServer>(service_, options_);
    target_ = options_.host + ":" + std::to_string(grpc_->port());
  }
  ~Parts() {
    loop_.End();
    grpc_->Drain();
    service_.sessions().Drain();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const std::string& target() const { return target_; }
  std::size_t Poll(double seconds) {
    if (!options_.polled) throw std::logic_error("the server is not polled: set ServeOptions::polled");
    return loop_.Poll(internal::Seconds(seconds));
  }

 private:
  const ServeOptions options_;
  internal::MainLoop loop_;
  internal::Service service_;
  std::unique_ptr<internal::DirectServer> direct_;
  std::unique_ptr<internal::GrpcServer> grpc_;
  std::string target_;
};

Server::Server(Registry registry, const ServeOptions& options)
    : parts_(std::make_unique<Parts>(std::move(registry), options)) {}
Server::~Server() = default;
const std::string& Server::target() const { return parts_->target(); }
std::size_t Server::Poll(double seconds) { return parts_->Poll(seconds); }

void Serve(Registry registry, ServeOptions options, const std::function<void(const std::string&)>& listening) {
  options.polled = false;
  if (const char* inherited = std::getenv(kChannel)) {
    return ServeInherited(std::move(registry), options, std::atoi(inherited));
  }
  std::string ids;
  for (const auto& [id, make] : registry) ids += (ids.empty() ? "" : ", ") + id;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const Server server(std::move(registry), options);
  if (listening) {
    listening(server.target());
  } else {
    std::cerr << "serving " << ids << " at " << server.target() << "; Ctrl-C stops it" << std::endl;
  }
  int signal = 0;
  sigwait(&ends, &signal);
}

}  // namespace envwire
