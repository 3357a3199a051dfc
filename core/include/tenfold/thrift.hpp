// Thrift's compact protocol, as much of it as the headers of Parquet's pages need: whole numbers, structs, and the way
// past everything else. Nothing is read beyond the bytes; what is broken, or cut off, is not `good`.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <span>

namespace tenfold {

class Thrift {
public:
  explicit Thrift(std::span<const std::uint8_t> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool good() const { return good_; }
  const std::uint8_t *at() const { return at_; }

  // Reads a struct: use(id, kind) takes the value of a field and returns true, or leaves it where it is.
  template <class F> void each_field(F &&use) {
    for (std::int64_t id = 0; good_;) {
      const unsigned head = byte();
      if (head == 0)
        return;
      id = head >> 4 != 0 ? id + (head >> 4) : number();
      const unsigned kind = head & 15;
      if (!use(id, kind))
        skip(kind, deepest);
    }
  }

  // A whole number of any size.
  std::int64_t number() {
    const std::uint64_t bits = variable();
    return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
  }

  static constexpr unsigned truth = 1, untruth = 2, int32 = 5, structure = 12;

private:
  static constexpr int deepest = 16;

  unsigned byte() {
    if (at_ == end_) {
      good_ = false;
      return 0;
    }
    return *at_++;
  }

  std::uint64_t variable() {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned next = byte();
      bits |= static_cast<std::uint64_t>(next & 127) << shift;
      if (next < 128)
        return bits;
    }
    good_ = false;
    return 0;
  }

  void skip_bytes(std::uint64_t count) {
    good_ = good_ && count <= static_cast<std::uint64_t>(end_ - at_);
    at_ += good_ ? count : 0;
  }

  void skip(unsigned kind, int depth) {
    good_ = good_ && depth > 0;
    if (!good_ || kind == truth || kind == untruth)
      return;
    if (kind == 3) { // a byte
      skip_bytes(1);
    } else if (kind >= 4 && kind <= 6) { // whole numbers
      variable();
    } else if (kind == 7) { // a double
      skip_bytes(8);
    } else if (kind == 8) { // text
      skip_bytes(variable());
    } else if (kind == 9 || kind == 10) { // a list or a set
      const unsigned head = byte(), each = head & 15;
      const std::uint64_t count = head >> 4 == 15 ? variable() : head >> 4;
      for (std::uint64_t i = 0; i < count && good_; ++i)
        each == truth || each == untruth ? skip_bytes(1) : skip(each, depth - 1);
    } else if (kind == structure) {
      for (unsigned head = byte(); head != 0 && good_; head = byte()) {
        if (head >> 4 == 0)
          variable();
        skip(head & 15, depth - 1);
      }
    } else {
      good_ = false; // maps are in no header
    }
  }

  const std::uint8_t *at_, *end_;
  bool good_ = true;
};

} // namespace tenfold
