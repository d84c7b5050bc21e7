// Measures two programs on a socket without any protocol: pingpong serve, or pingpong HOST:PORT, which prints the
// microseconds of one exchange with the size of a step of CartPole, for each line on standard input. Both ends
// wait as the library does.
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <iostream>
#include <string>

#include "kit/ports/listeners.h"
#include "transports/frame_reader.h"
#include "transports/tls_socket.h"

using namespace envwire::internal;  // NOLINT: a benchmark

namespace {

constexpr int kExchanges = 3000;
constexpr std::size_t kRequest = 16 + 10;
constexpr std::size_t kAnswer = 16 + 50;
const Clock::time_point kNever = Clock::now() + std::chrono::hours(24);

void Serve() {
  const Descriptor listener = ListenTcp("127.0.0.1", 0);
  std::cout << "127.0.0.1:" << PortOf(listener.get()) << std::endl;
  WaitFor(listener.get(), POLLIN, kNever);
  Descriptor fd(accept(listener.get(), nullptr, nullptr));
  SetTcpOptions(fd.get());
  const std::unique_ptr<Socket> socket = Adopt(std::move(fd), "the client");
  FrameReader reader(*socket, kRequest);
  const std::string answer(kAnswer, 'a');
  for (;;) {
    reader.Read(kRequest, kNever);
    socket->Write(answer.data(), answer.size(), kNever);
  }
}

void Drive(const std::string& target) {
  const std::unique_ptr<Socket> socket = Connect(target, {}, kNever);
  FrameReader reader(*socket, kAnswer);
  const std::string request(kRequest, 'r');
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = Clock::now();
    for (int count = 0; count < kExchanges; ++count) {
      socket->Write(request.data(), request.size(), kNever);
      reader.Read(kAnswer, kNever);
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    std::cout << took.count() / kExchanges << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "serve";
  if (what == "serve") {
    Serve();
  } else {
    Drive(what);
  }
}
