#include "kit/ports/direct_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "kit/ports/direct_channel.h"
#include "kit/ports/listeners.h"
#include "random/secrets.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {
namespace {

constexpr std::chrono::seconds kHello{5};
constexpr int kMostSilent = 256;
constexpr std::size_t kNameBytes = 16;
constexpr int kPauseMilliseconds = 200;

// Whether the system is temporarily out of files or memory.
bool HasNoRoom(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

DirectServer::DirectServer(Service& service, const ServeOptions& options)
    : service_(service),
      options_(options),
      name_("envwire-" + Hex(RandomBytes(kNameBytes))),
      tcp_(ListenTcp(options.host, options.direct_port)),
      unix_(ListenAbstract(name_)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  if (options.tls) tls_.emplace(*options.tls);
  // Before clients can connect, since answers to their Makes contain these addresses.
  service.maker().direct_addresses = {kUnix + name_, ":" + std::to_string(PortOf(tcp_.get()))};
  acceptor_ = std::thread([this] { Accept(); });
}

DirectServer::~DirectServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  acceptor_.join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    for (Connection& each : connections_) {
      if (each.socket) each.socket->Shutdown();
    }
  }
  for (Connection& each : connections_) each.thread.join();
}

void DirectServer::Accept() {
  std::array<pollfd, 3> polled = {{{wake_.get(), POLLIN, 0}, {unix_.get(), POLLIN, 0}, {tcp_.get(), POLLIN, 0}}};
  while (poll(polled.data(), polled.size(), -1) >= 0 || errno == EINTR) {
    if (polled[0].revents != 0) return;
    if (polled[1].revents != 0) AcceptFrom(unix_.get(), false);
    if (polled[2].revents != 0) AcceptFrom(tcp_.get(), true);
    JoinThoseThatAreOver();
  }
}

void DirectServer::AcceptFrom(int listener, bool is_tcp) {
  Descriptor fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.get() < 0) return HasNoRoom(errno) ? Pause() : void();
  if (silent_ >= kMostSilent) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Connection* connection = &connections_.emplace_back();
  ++silent_;
  try {
    connection->thread =
        std::thread([this, connection, is_tcp, raw = fd.get()] { Serve(connection, Descriptor(raw), is_tcp); });
    fd.Release();
  } catch (const std::system_error&) {  // the system has no thread left for this one
    --silent_;
    connections_.pop_back();
  }
}

// A connection that cannot be accepted would be reported repeatedly.
void DirectServer::Pause() {
  pollfd wake{wake_.get(), POLLIN, 0};
  poll(&wake, 1, kPauseMilliseconds);
}

void DirectServer::Serve(Connection* connection, Descriptor fd, bool is_tcp) {
  bool silent = true;
  const auto heard = [&] {
    if (std::exchange(silent, false)) --silent_;
  };
  const Clock::time_point deadline = Clock::now() + kHello;
  try {
    const std::shared_ptr<Socket> socket = Opened(std::move(fd), is_tcp, deadline);
    Note(connection, socket);
    ServeChannel(service_, socket, deadline, options_, heard);
  } catch (const std::exception&) {  // the connection broke; its client opens another
  }
  heard();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (connection->socket) connection->socket->Shutdown();  // a session may still know it
  connection->socket.reset();
  connection->over = true;
}

std::shared_ptr<Socket> DirectServer::Opened(Descriptor fd, bool is_tcp, Clock::time_point deadline) const {
  if (!is_tcp) return std::make_shared<MailboxSocket>(std::move(fd), "a client", MailboxSocket::End::kServer);
  SetTcpOptions(fd.get());
  if (tls_) return tls_->Accept(std::move(fd), deadline);
  return Adopt(std::move(fd), "a client");
}

void DirectServer::Note(Connection* connection, std::shared_ptr<Socket> socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ending_) throw Error("DRAINING", "the server stops");
  connection->socket = std::move(socket);
}

void DirectServer::JoinThoseThatAreOver() {
  std::list<Connection> over;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto each = connections_.begin(); each != connections_.end();) {
      const auto here = each++;
      if (here->over) over.splice(over.end(), connections_, here);
    }
  }
  for (Connection& each : over) each.thread.join();
}

}  // namespace envwire::internal
