// Small whole numbers as Parquet packs them: runs of one number, and groups of eight with `width` bits each.
//
// Numbers are taken out of eight bytes at a time, so that as many bytes beyond the end must be readable. What is
// broken, or ends too soon, is refused.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenfold {

constexpr std::size_t bit_slack = 8;

class BitRuns {
public:
  BitRuns() = default;
  BitRuns(std::span<const std::uint8_t> bytes, unsigned width)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), width_(width) {}

  // The next numbers; false where there are not so many.
  bool read(std::span<std::uint32_t> out) {
    std::uint32_t *to = out.data();
    for (auto wanted = static_cast<Index>(out.size()); wanted > 0;) {
      if (left_ == 0 && !next())
        return false;
      const Index count = std::min(wanted, left_);
      if (packed_ == nullptr)
        std::fill_n(to, count, number_);
      else
        unpack(to, count);
      to += count;
      wanted -= count;
      left_ -= count;
    }
    return true;
  }

  // Whether the next `count` numbers, of one bit each, are ones; as a rule they are one run.
  bool all_ones(Index count) {
    while (count > 0) {
      if (left_ == 0 && !next())
        return false;
      const Index some = std::min(count, left_);
      if (packed_ == nullptr ? number_ != 1 : !bits_are_ones(some))
        return false;
      count -= some;
      left_ -= some;
    }
    return true;
  }

private:
  bool bits_are_ones(Index count) { // of a run that nothing was read from
    for (Index i = 0; i < count / 8; ++i)
      if (packed_[i] != 255)
        return false;
    const unsigned rest = (1u << (count % 8)) - 1;
    return (packed_[count / 8] & rest) == rest;
  }

  bool next() {
    std::uint64_t head = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == end_ || shift > 28)
        return false;
      head |= static_cast<std::uint64_t>(*at_ & 127) << shift;
      if (*at_++ < 128)
        break;
    }
    const auto bytes = static_cast<std::uint64_t>(end_ - at_);
    if ((head & 1) != 0) {
      const std::uint64_t size = (head >> 1) * width_; // eight numbers take as many bytes as one takes bits
      if (size > bytes)
        return false;
      left_ = static_cast<Index>(head >> 1) * 8;
      packed_ = at_;
      bit_ = 0;
      at_ += size;
    } else {
      const std::size_t size = (width_ + 7) / 8;
      if (size > bytes)
        return false;
      number_ = 0;
      for (std::size_t i = 0; i < size; ++i)
        number_ |= static_cast<std::uint32_t>(at_[i]) << (8 * i);
      at_ += size;
      left_ = static_cast<Index>(head >> 1);
      packed_ = nullptr;
    }
    return left_ > 0;
  }

  void unpack(std::uint32_t *to, Index count) {
    const std::uint64_t mask = (std::uint64_t{1} << width_) - 1;
    const std::uint8_t *const from = packed_;
    const unsigned width = width_;
    std::uint64_t bit = bit_;
    for (Index i = 0; i < count; ++i, bit += width) {
      std::uint64_t word;
      std::memcpy(&word, from + (bit >> 3), sizeof word);
      to[i] = static_cast<std::uint32_t>(word >> (bit & 7) & mask);
    }
    bit_ = bit;
  }

  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
  unsigned width_ = 0;
  Index left_ = 0;                       // of the run
  const std::uint8_t *packed_ = nullptr; // null in a run of one number
  std::uint64_t bit_ = 0;
  std::uint32_t number_ = 0;
};

} // namespace tenfold
