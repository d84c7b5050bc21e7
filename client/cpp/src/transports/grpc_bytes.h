// Bytes as gRPC carries them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>
#include <vector>

#include "errors.h"

namespace envwire::internal {

inline grpc::ByteBuffer BufferOf(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

inline std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) throw ConnectionError("a message of gRPC could not be read", false, true);
  std::string bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace envwire::internal
