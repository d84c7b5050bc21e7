#include "kit/hosting/infos.h"

#include <algorithm>

#include "values/elements.h"

namespace envwire::internal {
namespace {

using Samples = std::vector<const Value*>;

// The values of one key, nullptr for members without it, as an array where all are of one numeric type.
Value ColumnOf(const Samples& values) {
  const auto all = [&](auto is) {
    return std::all_of(values.begin(), values.end(), [&](const Value* each) { return each == nullptr || is(*each); });
  };
  const auto numbers = [&](DType dtype) {
    std::string bytes;
    for (const Value* each : values) AppendElement(&bytes, dtype, each == nullptr ? 0 : each->AsDouble());
    return NdArray(dtype, {values.size()}, std::move(bytes));
  };
  if (all([](const Value& each) { return each.Is<std::int64_t>(); })) return numbers(DType::kInt64);
  if (all([](const Value& each) { return each.Is<double>(); })) return numbers(DType::kFloat64);
  if (all([](const Value& each) { return each.Is<bool>(); })) return numbers(DType::kBool);
  if (all([](const Value& each) { return each.Is<Dict>(); })) {
    std::vector<Dict> rows;
    for (const Value* each : values) rows.push_back(each == nullptr ? Dict() : each->dict());
    return BatchInfos(rows);
  }
  ObjectArray objects{{values.size()}, {}};
  for (const Value* each : values) objects.values.push_back(each == nullptr ? Value(None{}) : *each);
  return objects;
}

}  // namespace

Dict BatchInfos(const std::vector<Dict>& infos) {
  Dict columns;
  for (const Dict& info : infos) {
    for (const auto& entry : info.entries()) {
      if (columns.FindKey(entry.first) != nullptr) continue;
      Samples values;
      std::string present;
      for (const Dict& each : infos) {
        values.push_back(each.FindKey(entry.first));
        present += values.back() != nullptr ? '\1' : '\0';
      }
      columns.Add(entry.first, ColumnOf(values));
      const auto* name = entry.first.If<std::string>();
      columns.Add("_" + (name == nullptr ? std::string("key") : *name),
                  NdArray(DType::kBool, {infos.size()}, std::move(present)));
    }
  }
  return columns;
}

}  // namespace envwire::internal
