// A hash table of terms (UTF-8), numbered in the order in which they are first seen.
//
// Open addressing over slots of a tag and a number; the bytes of all terms are in one buffer. A term is compared only
// where the tags, 32 bits of its hash, agree.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tenfold {

template <class Word> Word load(const char *p) {
  Word word;
  std::memcpy(&word, p, sizeof(Word));
  return word;
}

// At most eight bytes as a number, another for any other bytes of the same size.
inline std::uint64_t load_bytes(const char *p, std::size_t size) {
  if (size >= 4)
    return load<std::uint32_t>(p) | std::uint64_t{load<std::uint32_t>(p + size - 4)} << 32;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i)
    word |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
  return word;
}

inline std::uint64_t mix_bits(std::uint64_t h) {
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 29);
}

// A hash of the bytes; equal on all threads, not meant to resist chosen input.
inline std::uint64_t hash_term(std::string_view term) {
  const char *p = term.data();
  std::size_t left = term.size();
  std::uint64_t h = 0x2545f4914f6cdd1dULL * (left + 1);
  for (; left > 8; p += 8, left -= 8)
    h = mix_bits(h ^ load<std::uint64_t>(p)) * 0xd6e8feb86659fd93ULL;
  h = mix_bits(h ^ load_bytes(p, left)) * 0xd6e8feb86659fd93ULL;
  return h ^ (h >> 32);
}

class TermTable {
public:
  using Number = std::uint32_t;
  static constexpr Number none = 0xffffffffU;

  Index size() const { return static_cast<Index>(hashes_.size()); }
  std::uint64_t hash(Index number) const { return hashes_[static_cast<std::size_t>(number)]; }

  std::string_view term(Index number) const {
    const auto k = static_cast<std::size_t>(number);
    return {bytes_.data() + ends_[k], ends_[k + 1] - ends_[k]};
  }

  // The number of a term, or none.
  Number find(std::string_view term, std::uint64_t hash) const {
    return slots_.empty() ? none : slots_[place(term, hash)].number;
  }

  // The number of a term, which is a new one where it was not there.
  Number insert(std::string_view term, std::uint64_t hash) {
    if (2 * (hashes_.size() + 1) > slots_.size())
      grow();
    Slot &slot = slots_[place(term, hash)];
    if (slot.number == none) {
      if (hashes_.size() >= none - 1)
        throw std::length_error("there are more than 4294967294 distinct terms");
      slot = {static_cast<std::uint32_t>(hash >> 32), static_cast<Number>(hashes_.size())};
      bytes_.insert(bytes_.end(), term.begin(), term.end());
      ends_.push_back(bytes_.size());
      hashes_.push_back(hash);
    }
    return slot.number;
  }

private:
  struct Slot {
    std::uint32_t tag = 0;
    Number number = none;
  };

  // The slot of a term, or the empty one where it belongs.
  std::size_t place(std::string_view term, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t k = static_cast<std::size_t>(hash) & mask;
    for (; slots_[k].number != none; k = (k + 1) & mask)
      if (slots_[k].tag == tag && this->term(slots_[k].number) == term)
        break;
    return k;
  }

  void grow() {
    std::vector<Slot> slots(slots_.empty() ? 1024 : 2 * slots_.size());
    const std::size_t mask = slots.size() - 1;
    for (std::size_t number = 0; number < hashes_.size(); ++number) {
      std::size_t k = static_cast<std::size_t>(hashes_[number]) & mask;
      while (slots[k].number != none)
        k = (k + 1) & mask;
      slots[k] = {static_cast<std::uint32_t>(hashes_[number] >> 32), static_cast<Number>(number)};
    }
    slots_.swap(slots);
  }

  std::vector<Slot> slots_;
  std::vector<char> bytes_;
  std::vector<std::size_t> ends_{0};
  std::vector<std::uint64_t> hashes_;
};

} // namespace tenfold
