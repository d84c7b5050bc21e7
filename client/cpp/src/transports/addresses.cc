#include "transports/addresses.h"

#include <arpa/inet.h>

#include <regex>

namespace envwire::internal {
namespace {

constexpr std::size_t kLongest = 253 + sizeof(":65535");
constexpr int kLastPort = 65535;

bool IsIp(int family, const std::string& host) {
  in6_addr address{};
  return inet_pton(family, host.c_str(), &address) == 1;
}

}  // namespace

bool IsHostPort(const std::string& text) {
  static const std::regex parts(R"((?:\[([0-9A-Fa-f:.]+)\]|([^:]+)):([1-9][0-9]{0,4}))");
  // The last label of what resolvers take for a number.
  static const std::regex number(R"((?:.*\.)?(?:[0-9]+|0[Xx][0-9A-Fa-f]*))");
  static const std::regex label(R"([A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)");
  // Schemes of gRPC, which would take "dns:1" for the host 1.
  static const std::regex scheme("dns|ipv4|ipv6|unix|unix-abstract|vsock|xds|google-c2p", std::regex::icase);
  std::smatch found;
  if (text.size() > kLongest || !std::regex_match(text, found, parts) || std::stoi(found[3]) > kLastPort) return false;
  if (found[1].matched) return IsIp(AF_INET6, found[1]);
  const std::string host = found[2];
  if (std::regex_match(host, number)) return IsIp(AF_INET, host);
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = host.find('.', begin);
    if (!std::regex_match(host.substr(begin, end - begin), label)) return false;
  }
  return !std::regex_match(host, scheme);
}

}  // namespace envwire::internal
