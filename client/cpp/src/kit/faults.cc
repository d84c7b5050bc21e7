#include "kit/faults.h"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <typeinfo>

#include "envwire/kit.hpp"
#include "errors.h"
#include "transports/methods.h"
#include "values/codec.h"

namespace envwire::internal {
namespace {

constexpr int kUnknown = 2;
constexpr int kInternal = 13;
// The details of a unary call travel in a header, which has to stay small.
constexpr std::size_t kMostText = 1000;
constexpr int kMostCauses = 4;

// The beginning of a text, which does not end inside of a character.
std::string Cut(const std::string& text) {
  std::size_t end = std::min(text.size(), kMostText);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

template <class Message>
void AddDetail(const char* name, const Message& message, v1::ErrorStatus* status) {
  auto* detail = status->add_details();
  detail->set_type_url(std::string("type.googleapis.com/") + name);
  message.SerializeToString(detail->mutable_value());
}

void AddReason(const std::string& reason, const std::map<std::string, std::string>& metadata, v1::ErrorStatus* status) {
  v1::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("envwire");
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = Cut(value);
  AddDetail("google.rpc.ErrorInfo", info, status);
}

// The class that Python would name, or C++'s own.
std::string TypeName(const std::exception& thrown) {
  if (const auto* raised = dynamic_cast<const Raised*>(&thrown)) return raised->type_name;
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(thrown).name(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 ? name.get() : typeid(thrown).name();
}

v1::RemoteException RemoteOf(const std::exception& thrown) {
  v1::RemoteException remote;
  remote.set_text(Cut(thrown.what()));
  remote.set_type_name(Cut(TypeName(thrown)));
  const auto* raised = dynamic_cast<const Raised*>(&thrown);
  if (raised != nullptr) {
    for (const Value& each : raised->args) Encode(each, remote.mutable_args()->add_values());
  }
  if (remote.args().ByteSizeLong() > kMostText) remote.clear_args();
  return remote;
}

std::string Described(const std::exception& thrown) { return TypeName(thrown) + ": " + thrown.what(); }

// Adds what `thrown` was nested around (std::throw_with_nested), the cause of a cause first.
void AddCauses(const std::exception& thrown, int left, v1::DebugInfo* trace) {
  if (left == 0) return;
  try {
    std::rethrow_if_nested(thrown);
  } catch (const std::exception& cause) {
    AddCauses(cause, left - 1, trace);
    trace->add_stack_entries(Cut("caused by " + Described(cause)));
  } catch (...) {  // nothing is known of it
  }
}

// C++ keeps no stack of what was thrown. What there is: where it reached the kit, and what caused it.
v1::DebugInfo TraceOf(const std::exception& thrown, Kind kind) {
  v1::DebugInfo trace;
  AddCauses(thrown, kMostCauses, &trace);
  const char* const method = kMethods[static_cast<std::size_t>(kind)];
  if (*method != '\0') trace.add_stack_entries(std::string("in ") + method);
  trace.add_stack_entries(Cut(Described(thrown)));
  return trace;
}

}  // namespace

v1::ErrorStatus StatusOf(const std::exception& thrown, Kind kind) {
  v1::ErrorStatus status;
  if (const auto* error = dynamic_cast<const Error*>(&thrown)) {
    const Reason* reason = FindReason(error->reason());
    status.set_code(reason == nullptr ? kInternal : reason->code);
    status.set_message(Cut(error->what()));
    AddReason(reason == nullptr ? "INTERNAL" : error->reason(), error->metadata, &status);
    return status;
  }
  const v1::RemoteException remote = RemoteOf(thrown);
  status.set_code(kUnknown);
  status.set_message(Cut(Described(thrown)));
  AddReason("ENVIRONMENT_RAISED", {}, &status);
  AddDetail("envwire.v1.RemoteException", remote, &status);
  AddDetail("google.rpc.DebugInfo", TraceOf(thrown, kind), &status);
  return status;
}

}  // namespace envwire::internal
