#include "spaces/shown.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "values/elements.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kMostText = 200;
constexpr std::size_t kMostElements = 8;

// A text that grows up to its limit; nothing more is looked at then, however large or deep the value is.
class Text {
 public:
  bool full() const { return text_.size() >= kMostText; }
  Text& operator<<(std::string_view part) {
    if (!full()) text_ += part.substr(0, kMostText + 4);  // a character more, of which Take decides
    return *this;
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Text& operator<<(Number number) {
    if constexpr (std::is_integral_v<Number>) return *this << std::string_view(std::to_string(number));
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", static_cast<double>(number));
    return *this << std::string_view(digits.data());
  }
  // Texts of parts, with commas between them.
  template <class Write>
  Text& Row(std::size_t count, const Write& write) {
    for (std::size_t i = 0; i < count && !full(); ++i) {
      if (i > 0) *this << ", ";
      if (i == kMostElements) return *this << "...";
      write(i);
    }
    return *this;
  }
  // Cut between characters.
  std::string Take() {
    std::size_t end = std::min(text_.size(), kMostText);
    while (end < text_.size() && end > 0 && (static_cast<unsigned char>(text_[end]) & 0xc0U) == 0x80U) --end;
    text_.resize(end);
    return std::move(text_);
  }

 private:
  std::string text_;
};

void Write(Text& text, const Value& value);
void Write(Text& text, const Space& space);

void WriteShape(Text& text, const std::vector<std::size_t>& shape) {
  text << "(";
  text.Row(shape.size(), [&](std::size_t i) { text << shape[i]; }) << (shape.size() == 1 ? ",)" : ")");
}

void WriteElement(Text& text, const NdArray& array, std::size_t index) {
  if (IsIntegral(array.dtype()) && array.dtype() != DType::kUint64) {
    text << array.Integer(index);
  } else if (array.dtype() <= DType::kFloat64) {
    text << array.Number(index);
  } else {
    text << "?";
  }
}

void WriteElements(Text& text, const NdArray& array) {
  text << "[";
  text.Row(array.size(), [&](std::size_t i) { WriteElement(text, array, i); }) << "]";
}

// One number for all where they are equal, as bounds mostly are.
void WriteBound(Text& text, const NdArray& bound) {
  const std::size_t item = bound.size() > 0 ? bound.byte_size() / bound.size() : 0;
  const bool equal = item > 0 && std::memcmp(bound.bytes(), bound.bytes() + item, bound.byte_size() - item) == 0;
  if (equal) return WriteElement(text, bound, 0);
  WriteElements(text, bound);
}

struct WriteValue {
  Text& text;

  void operator()(None) const { text << "None"; }
  void operator()(bool value) const { text << (value ? "True" : "False"); }
  void operator()(std::int64_t value) const { text << value; }
  void operator()(double value) const { text << value; }
  void operator()(const BigInt&) const { text << "an integer beyond 64 bits"; }
  void operator()(const std::string& value) const { text << "'" << value << "'"; }
  void operator()(const Bytes& value) const { text << value.data.size() << " bytes"; }
  void operator()(const NdArray& array) const {
    text << "array(";
    WriteElements(text, array);
    if (array.shape().size() != 1) {
      text << ", shape=";
      WriteShape(text, array.shape());
    }
    text << ", dtype=" << DTypeName(array.dtype()) << ")";
  }
  void operator()(const Scalar& scalar) const {
    text << "np." << DTypeName(scalar.number.dtype()) << "(";
    WriteElement(text, scalar.number, 0);
    text << ")";
  }
  void operator()(const List& list) const { Sequence("[", list.values, "]"); }
  void operator()(const Tuple& tuple) const { Sequence("(", tuple.values, tuple.values.size() == 1 ? ",)" : ")"); }
  void operator()(const Set& set) const { Sequence("{", set.values, "}"); }
  void operator()(const Dict& dict) const {
    text << "{";
    text.Row(dict.size(), [&](std::size_t i) { Entry(dict.entries()[i].first, dict.entries()[i].second); }) << "}";
  }
  void operator()(const Opaque& opaque) const { text << opaque.text; }
  void operator()(const EnumMember& one) const { text << one.enumeration << "." << one.member; }
  void operator()(const std::complex<double>&) const { text << "a complex number"; }
  void operator()(const ObjectArray&) const { text << "an array of objects"; }
  void operator()(const Graph&) const { text << "a graph"; }
  void operator()(const TextStream&) const { text << "a text stream"; }

 private:
  void Sequence(std::string_view open, const std::vector<Value>& values, std::string_view close) const {
    text << open;
    text.Row(values.size(), [&](std::size_t i) { Write(text, values[i]); }) << close;
  }
  void Entry(const Value& key, const Value& value) const {
    Write(text, key);
    text << ": ";
    Write(text, value);
  }
};

struct WriteSpace {
  Text& text;

  void operator()(const Box& box) const {
    text << "Box(";
    WriteBound(text, box.low);
    text << ", ";
    WriteBound(text, box.high);
    text << ", ";
    WriteShape(text, box.low.shape());
    text << ", " << DTypeName(box.low.dtype()) << ")";
  }
  void operator()(const Discrete& space) const {
    text << "Discrete(" << space.n;
    if (space.start != 0) text << ", start=" << space.start;
    text << ")";
  }
  void operator()(const MultiBinary& space) const {
    text << "MultiBinary(";
    WriteShape(text, space.shape);
    text << ")";
  }
  void operator()(const MultiDiscrete& space) const {
    text << "MultiDiscrete(";
    WriteElements(text, space.nvec);
    text << ", start=";
    WriteElements(text, space.start);
    text << ")";
  }
  void operator()(const TextSpace& space) const {
    text << "Text(" << space.min_length << ", " << space.max_length << ", '" << space.characters << "')";
  }
  void operator()(const DictSpace& space) const {
    text << "Dict(";
    text.Row(space.entries.size(), [&](std::size_t i) {
      Write(text, space.entries[i].first);
      text << ": ";
      Write(text, *space.entries[i].second);
    }) << ")";
  }
  void operator()(const TupleSpace& space) const { Parts("Tuple(", space.spaces); }
  void operator()(const OneOf& space) const { Parts("OneOf(", space.spaces); }
  void operator()(const Sequence& space) const {
    text << "Sequence(";
    Write(text, *space.feature);
    text << (space.stack ? ", stack=True)" : ")");
  }
  void operator()(const GraphSpace& space) const {
    text << "Graph(";
    Write(text, *space.node);
    text << ", ";
    if (space.edge) {
      Write(text, *space.edge);
    } else {
      text << "None";
    }
    text << ")";
  }

 private:
  void Parts(std::string_view open, const std::vector<SpacePtr>& spaces) const {
    text << open;
    text.Row(spaces.size(), [&](std::size_t i) { Write(text, *spaces[i]); }) << ")";
  }
};

void Write(Text& text, const Value& value) {
  if (!text.full()) std::visit(WriteValue{text}, value.kind());
}

void Write(Text& text, const Space& space) {
  if (!text.full()) std::visit(WriteSpace{text}, space.kind());
}

template <class Thing>
std::string ShownOf(const Thing& thing) {
  Text text;
  Write(text, thing);
  return text.Take();
}

}  // namespace

std::string Shown(const Value& value) { return ShownOf(value); }
std::string Shown(const Space& space) { return ShownOf(space); }

}  // namespace envwire::internal
