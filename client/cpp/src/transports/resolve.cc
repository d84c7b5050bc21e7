#include "transports/resolve.h"

#include <sys/socket.h>

#include <future>
#include <thread>
#include <utility>

#include "errors.h"

namespace envwire::internal {
namespace {

struct Found {
  int error;
  Addresses addresses;
};

Found Ask(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* first = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &first);
  return {error, Addresses(first, &freeaddrinfo)};
}

}  // namespace

Addresses Resolve(const std::string& host, const std::string& port, Clock::time_point deadline) {
  Found found = Ask(host, port, AI_NUMERICHOST);
  if (found.error != 0) {
    // A thread that the resolver holds is left behind, with what it needs.
    std::packaged_task<Found()> ask([host, port] { return Ask(host, port, 0); });
    std::future<Found> answer = ask.get_future();
    std::thread(std::move(ask)).detach();
    if (answer.wait_until(deadline) != std::future_status::ready) {
      throw Error("DEADLINE_EXCEEDED", "no resolver answers for " + host + " in time");
    }
    found = answer.get();
  }
  if (found.error != 0) {
    throw ConnectionError("cannot find " + host + ": " + gai_strerror(found.error), true, false);
  }
  return std::move(found.addresses);
}

}  // namespace envwire::internal
