#include "kit/hosting/np_random.h"

#include "envwire/error.hpp"
#include "values/codec.h"

namespace envwire::internal {
namespace {

constexpr char kBitGenerator[] = "PCG64";

// The little-endian bytes of a non-negative integer.
std::string UnsignedBytes(const Value& value, const char* what) {
  std::string bytes;
  if (const auto* number = value.If<std::int64_t>(); number != nullptr && *number >= 0) {
    for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(*number >> shift);
    return bytes;
  }
  const auto* big = value.If<BigInt>();
  if (big == nullptr || (!big->bytes.empty() && (static_cast<unsigned char>(big->bytes.back()) & 0x80U) != 0)) {
    throw Error("INVALID_VALUE", std::string(what) + " is a non-negative integer");
  }
  return big->bytes;
}

// An integer of little-endian bytes, which are not negative whatever their last one is.
Value FromUnsigned(std::string bytes) {
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  if (!bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0) bytes += '\0';
  if (bytes.size() > sizeof(std::int64_t)) return BigInt{std::move(bytes)};
  std::int64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::int64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

Value FromHalves(Uint128 number) {
  std::string bytes(reinterpret_cast<const char*>(&number.low), sizeof(number.low));
  bytes.append(reinterpret_cast<const char*>(&number.high), sizeof(number.high));
  return FromUnsigned(std::move(bytes));
}

Uint128 HalvesOf(const Value& value) {
  std::string bytes = UnsignedBytes(value, "a generator's state");
  bytes.resize(sizeof(Uint128), '\0');
  Uint128 number;
  std::memcpy(&number.low, bytes.data(), sizeof(number.low));
  std::memcpy(&number.high, bytes.data() + sizeof(number.low), sizeof(number.high));
  return number;
}

}  // namespace

void NpRandom::Seed(const Value& seed) {
  generator_.Seed(UnsignedBytes(seed, "a seed"));
  created_ = true;
}

void NpRandom::Restore(const v1::RandomState& message) {
  if (message.bit_generator() != kBitGenerator) {
    throw Error("UNSUPPORTED", "this server's generators are PCG64, not " + message.bit_generator());
  }
  v1::Value copy = message.state();
  const Value state = Decode(&copy, {});
  try {
    const Dict& inner = state.dict().at("state").dict();
    generator_.set_state({HalvesOf(inner.at("state")), HalvesOf(inner.at("inc")),
                          state.dict().at("has_uint32").AsInt() != 0,
                          static_cast<std::uint32_t>(state.dict().at("uinteger").AsInt())});
  } catch (const std::logic_error& lacking) {
    throw Error("INVALID_VALUE", std::string("a generator's state cannot be read: ") + lacking.what());
  } catch (const std::bad_variant_access&) {
    throw Error("INVALID_VALUE", "a generator's state cannot be read");
  }
}

void NpRandom::Mirror(v1::RandomMirror* mirror) const {
  if (!created_) return;
  const Pcg64State& state = generator_.state();
  const Dict inner{{"state", FromHalves(state.state)}, {"inc", FromHalves(state.increment)}};
  mirror->mutable_np_random()->set_bit_generator(kBitGenerator);
  Encode(Dict{{"bit_generator", kBitGenerator},
              {"state", inner},
              {"has_uint32", state.has_uint32 ? 1 : 0},
              {"uinteger", static_cast<std::int64_t>(state.uinteger)}},
         mirror->mutable_np_random()->mutable_state());
  Encode(FromUnsigned(generator_.seed()), mirror->mutable_np_random_seed());
}

Value SeedAfter(const Value& seed, std::uint32_t count) {
  std::string bytes = UnsignedBytes(seed, "a seed") + '\0';
  unsigned carry = 0;
  for (std::size_t i = 0; i < bytes.size() || i < sizeof(count); ++i) {
    if (i == bytes.size()) bytes += '\0';
    const unsigned added = i < sizeof(count) ? (count >> (8 * i)) & 0xffU : 0;
    const unsigned sum = static_cast<unsigned char>(bytes[i]) + added + carry;
    bytes[i] = static_cast<char>(sum);
    carry = sum >> 8U;
  }
  return FromUnsigned(std::move(bytes));
}

}  // namespace envwire::internal
