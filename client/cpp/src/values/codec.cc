#include "values/codec.h"

#include <algorithm>
#include <utility>

#include "envwire/error.hpp"
#include "values/elements.h"
#include "values/utf8.h"

namespace envwire::internal {
namespace {

[[noreturn]] void Refuse(const std::string& why) { throw Error("INVALID_VALUE", why); }

// What is needed to read the values of one message.
struct Reading {
  const Attachments& attachments;
  FillAllowance* fills;
};

Value Read(v1::Value* message, Reading* reading);

template <class Message>
void EncodeAll(const std::vector<Value>& values, Message* message) {
  message->mutable_values()->Reserve(static_cast<int>(values.size()));
  for (const Value& value : values) Encode(value, message->add_values());
}

template <class Message>
std::vector<Value> ReadAll(Message* message, Reading* reading) {
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(message->values_size()));
  for (v1::Value& each : *message->mutable_values()) values.push_back(Read(&each, reading));
  return values;
}

void EncodeOptional(const std::vector<Value>& part, v1::Value* (v1::GraphValue::*field)(), v1::GraphValue* message) {
  if (!part.empty()) Encode(part.front(), (message->*field)());
}

struct Encoder {
  v1::Value* message;

  void operator()(None) const { message->mutable_none(); }
  void operator()(bool value) const { message->set_bool_value(value); }
  void operator()(std::int64_t value) const { message->set_int_value(value); }
  void operator()(const BigInt& value) const { message->set_big_int_value(value.bytes); }
  void operator()(double value) const { message->set_float_value(value); }
  void operator()(const std::string& value) const { message->set_string_value(CheckedText(value)); }
  void operator()(const Bytes& value) const { message->set_bytes_value(value.data); }
  void operator()(const NdArray& value) const { Encode(value, message->mutable_array()); }
  void operator()(const Scalar& value) const { Encode(value.number, message->mutable_scalar()); }
  void operator()(const List& value) const { EncodeAll(value.values, message->mutable_list()); }
  void operator()(const Tuple& value) const { EncodeAll(value.values, message->mutable_tuple()); }
  void operator()(const Set& value) const { EncodeAll(value.values, message->mutable_set()); }
  void operator()(const Dict& value) const { Encode(value, message->mutable_dict()); }
  void operator()(const std::complex<double>& value) const {
    message->mutable_complex_value()->set_real(value.real());
    message->mutable_complex_value()->set_imaginary(value.imag());
  }
  void operator()(const ObjectArray& value) const {
    for (const std::size_t length : value.shape) message->mutable_object_array()->add_shape(length);
    EncodeAll(value.values, message->mutable_object_array());
  }
  void operator()(const Graph& value) const {
    v1::GraphValue* graph = message->mutable_graph();
    EncodeOptional(value.nodes, &v1::GraphValue::mutable_nodes, graph);
    EncodeOptional(value.edges, &v1::GraphValue::mutable_edges, graph);
    EncodeOptional(value.edge_links, &v1::GraphValue::mutable_edge_links, graph);
  }
  void operator()(const EnumMember& value) const {
    message->mutable_enum_member()->set_enumeration(CheckedText(value.enumeration));
    message->mutable_enum_member()->set_member(CheckedText(value.member));
  }
  void operator()(const TextStream& value) const { message->set_text_stream(CheckedText(value.text)); }
  void operator()(const Opaque& value) const {
    message->mutable_opaque()->set_type_name(CheckedText(value.type_name));
    message->mutable_opaque()->set_text(CheckedText(value.text));
  }
};

std::vector<std::size_t> ShapeOf(const google::protobuf::RepeatedField<std::uint64_t>& shape) {
  return {shape.begin(), shape.end()};
}

std::string Filled(const std::string& element, const std::vector<std::size_t>& shape, FillAllowance* fills) {
  const std::optional<std::size_t> bytes = SizeOf(shape, element.size());
  if (!bytes || *bytes > fills->left) Refuse("the filled arrays of a message are too large");
  fills->left -= *bytes;
  std::string data;
  data.reserve(*bytes);
  data = element;
  while (data.size() < *bytes) data.append(data, 0, std::min(data.size(), *bytes - data.size()));
  data.resize(*bytes);
  return data;
}

NdArray Attached(const v1::Tensor& message, const Attachments& attachments) {
  std::vector<std::size_t> shape = ShapeOf(message.shape());
  const auto dtype = static_cast<DType>(message.data_type());
  const std::optional<std::size_t> bytes = SizeOf(shape, ItemSize(dtype));
  const std::size_t offset = message.attachment_offset();
  if (!bytes || offset > attachments.size || *bytes > attachments.size - offset) {
    Refuse("an array lies beyond the attachments of its frame");
  }
  std::shared_ptr<const char> elements(attachments.data, attachments.data.get() + offset);
  return NdArray(dtype, std::move(shape), std::move(elements), *bytes);
}

}  // namespace

void Encode(const Value& value, v1::Value* message) { std::visit(Encoder{message}, value.kind()); }

void Encode(const NdArray& array, v1::Tensor* message) {
  message->set_data_type(static_cast<v1::DataType>(array.dtype()));
  for (const std::size_t length : array.shape()) message->add_shape(length);
  message->set_data(array.bytes(), array.byte_size());
  if (!array.numpy_type().empty()) message->set_numpy_type(array.numpy_type());
}

void Encode(const Dict& dict, v1::ValueMap* message) {
  for (const auto& [key, value] : dict.entries()) {
    v1::ValueEntry* entry = message->add_entries();
    if (const auto* name = key.If<std::string>()) {
      entry->set_name(CheckedText(*name));
    } else {
      Encode(key, entry->mutable_other());
    }
    Encode(value, entry->mutable_value());
  }
}

namespace {

NdArray Read(v1::Tensor* message, Reading* reading) {
  if (message->data_type() < v1::DATA_TYPE_BOOL || message->data_type() > v1::DATA_TYPE_NUMPY) {
    Refuse("an array is of an unknown data type");
  }
  try {
    if (message->has_attachment_offset()) return Attached(*message, reading->attachments);
    std::vector<std::size_t> shape = ShapeOf(message->shape());
    std::string data =
        message->fill() ? Filled(message->data(), shape, reading->fills) : std::move(*message->mutable_data());
    return NdArray(static_cast<DType>(message->data_type()), std::move(shape), std::move(data), message->numpy_type());
  } catch (const std::invalid_argument& broken) {
    Refuse(broken.what());
  }
}

Dict Read(v1::ValueMap* message, Reading* reading) {
  Dict dict;
  for (v1::ValueEntry& entry : *message->mutable_entries()) {
    Value key = entry.key_case() == v1::ValueEntry::kName ? Value(std::move(*entry.mutable_name()))
                                                          : Read(entry.mutable_other(), reading);
    dict.Add(std::move(key), Read(entry.mutable_value(), reading));
  }
  return dict;
}

Value Read(v1::Value* message, Reading* reading) {
  switch (message->kind_case()) {
    case v1::Value::kNone: return None{};
    case v1::Value::kBoolValue: return message->bool_value();
    case v1::Value::kIntValue: return static_cast<std::int64_t>(message->int_value());
    case v1::Value::kBigIntValue: return BigInt{std::move(*message->mutable_big_int_value())};
    case v1::Value::kFloatValue: return message->float_value();
    case v1::Value::kStringValue: return std::move(*message->mutable_string_value());
    case v1::Value::kBytesValue: return Bytes{std::move(*message->mutable_bytes_value())};
    case v1::Value::kArray: return Read(message->mutable_array(), reading);
    case v1::Value::kScalar: return Scalar{Read(message->mutable_scalar(), reading)};
    case v1::Value::kList: return List{ReadAll(message->mutable_list(), reading)};
    case v1::Value::kTuple: return Tuple{ReadAll(message->mutable_tuple(), reading)};
    case v1::Value::kSet: return Set{ReadAll(message->mutable_set(), reading)};
    case v1::Value::kDict: return Read(message->mutable_dict(), reading);
    case v1::Value::kComplexValue:
      return std::complex<double>(message->complex_value().real(), message->complex_value().imaginary());
    case v1::Value::kObjectArray:
      return ObjectArray{ShapeOf(message->object_array().shape()), ReadAll(message->mutable_object_array(), reading)};
    case v1::Value::kGraph: {
      Graph graph;
      v1::GraphValue* parts = message->mutable_graph();
      if (parts->has_nodes()) graph.nodes.push_back(Read(parts->mutable_nodes(), reading));
      if (parts->has_edges()) graph.edges.push_back(Read(parts->mutable_edges(), reading));
      if (parts->has_edge_links()) {
        graph.edge_links.push_back(Read(parts->mutable_edge_links(), reading));
      }
      return graph;
    }
    case v1::Value::kEnumMember:
      return EnumMember{message->enum_member().enumeration(), message->enum_member().member()};
    case v1::Value::kTextStream: return TextStream{std::move(*message->mutable_text_stream())};
    case v1::Value::kOpaque: return Opaque{message->opaque().type_name(), message->opaque().text()};
    case v1::Value::KIND_NOT_SET: break;
  }
  Refuse("a value is of a kind that this version does not know");
}

}  // namespace

Value Decode(v1::Value* message, const Attachments& attachments, FillAllowance* fills) {
  Reading reading{attachments, fills};
  return Read(message, &reading);
}

Dict Decode(v1::ValueMap* message, const Attachments& attachments, FillAllowance* fills) {
  Reading reading{attachments, fills};
  return Read(message, &reading);
}

NdArray Decode(v1::Tensor* message, const Attachments& attachments, FillAllowance* fills) {
  Reading reading{attachments, fills};
  return Read(message, &reading);
}

NdArray DecodeArray(v1::Value* message, const Attachments& attachments, FillAllowance* fills) {
  const Value read = Decode(message, attachments, fills);
  if (const auto* array = read.If<NdArray>()) return *array;
  Refuse("a value is no array");
}

}  // namespace envwire::internal
