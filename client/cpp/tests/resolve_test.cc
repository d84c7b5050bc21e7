#include "transports/resolve.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "errors.h"

namespace {

constexpr char kSilent[] = "silent.example";

}  // namespace

// Takes the place of the system's: one name is never answered.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  using Real = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host != nullptr && std::strcmp(host, kSilent) == 0 && (hints->ai_flags & AI_NUMERICHOST) == 0) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  return real(host, port, hints, found);
}

namespace envwire::internal {
namespace {

Clock::time_point In(std::chrono::milliseconds time) { return Clock::now() + time; }

TEST(Resolve, AnAddressNeedsNoResolver) {
  EXPECT_EQ(Resolve("127.0.0.1", "50051", In(std::chrono::minutes(1)))->ai_family, AF_INET);
  EXPECT_EQ(Resolve("::1", "50051", In(std::chrono::minutes(1)))->ai_family, AF_INET6);
}

TEST(Resolve, ANameIsFound) { EXPECT_NE(Resolve("localhost", "50051", In(std::chrono::minutes(1))), nullptr); }

TEST(Resolve, AResolverThatDoesNotAnswerIsNotWaitedFor) {
  EXPECT_THROW(Resolve(kSilent, "50051", In(std::chrono::milliseconds(10))), Error);
}

TEST(Resolve, AFaultOfTheResolverIsAConnectionError) {
  EXPECT_THROW(Resolve("no such name", "50051", In(std::chrono::minutes(1))), ConnectionError);
}

}  // namespace
}  // namespace envwire::internal
