#include "transports/addresses.h"

#include <gtest/gtest.h>

#include "transports/socket.h"

namespace envwire::internal {
namespace {

TEST(Addresses, AnAddressIsHostAndPort) {
  for (const char* each : {"gpu-1.lab.example:50051", "localhost:1", "10.0.0.1:65535", "[::1]:50051", "a_b:7"}) {
    EXPECT_TRUE(IsHostPort(each)) << each;
  }
  for (const char* each :
       {"",        "host",        "host:",  ":50051",      "host:0",        "host:65536",      "host:050",
        "host:1 ", "one:1,two:1", "unix:1", "DNS:1",       "dns:///host:1", "unix-abstract:1", "unix:///run/socket:1",
        "xds:1",   "10.1:1",      "0x7f:1", "256.0.0.1:1", "[::g]:1",       "::1:50051",       "-a:1",
        "a..b:1"}) {
    EXPECT_FALSE(IsHostPort(each)) << each;
  }
}

TEST(Addresses, OnlyLoopbackIsHere) {
  for (const char* each : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(IsHere(each)) << each;
  for (const char* each : {"127.evil.example", "127.0.0.1.example", "10.0.0.1", "localhost.example", "::2", ""}) {
    EXPECT_FALSE(IsHere(each)) << each;
  }
}

}  // namespace
}  // namespace envwire::internal
