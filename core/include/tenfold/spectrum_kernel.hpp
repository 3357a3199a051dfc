// Spectrum kernel of two sets of strings, with or without gaps:
//   k(s, t) = sum over words u of (occurrences of u in s) (occurrences of u in t),
// where a string has a word at each window of `length` characters: those at the `places` of the window, all of them for
// substrings.
//
// Words are numbered by a hash table that compares them character by character. A row of the block is the sum of the
// lists of strings t of the words of s: at most |s| + |t| additions a pair, of whole numbers.
#pragma once

#include "tenfold/strings.hpp"
#include "tenfold/thread_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

struct Occurrences {
  std::int64_t number; // of the word or of the string
  double count;
};

class WordCounts {
public:
  // The first s.count() strings are s, those after them t.
  WordCounts(const Strings &s, const Strings &t, Index length, std::span<const std::int64_t> places)
      : length_(static_cast<std::size_t>(length)), places_(places) {
    std::size_t windows = 0;
    for (const Strings *set : {&s, &t})
      for (Index i = 0; i < set->count(); ++i)
        windows += windows_of((*set)[i]);
    slots_.assign(std::bit_ceil(2 * windows + 1), -1);
    offsets_.push_back(0);
    for (const Strings *set : {&s, &t})
      for (Index i = 0; i < set->count(); ++i)
        add((*set)[i]);
  }

  Index words() const { return static_cast<Index>(starts_.size()); }
  // The words of a string, each once.
  std::span<const Occurrences> in_string(Index i) const {
    const auto begin = offsets_[static_cast<std::size_t>(i)], end = offsets_[static_cast<std::size_t>(i) + 1];
    return std::span(lists_).subspan(begin, end - begin);
  }

private:
  std::size_t windows_of(std::span<const double> string) const {
    return string.size() >= length_ ? string.size() - length_ + 1 : 0;
  }

  std::int64_t number(const double *characters) {
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const std::int64_t i : places_) {
      hash = (hash ^ static_cast<std::uint64_t>(characters[i])) * 0xbf58476d1ce4e5b9ULL;
      hash ^= hash >> 29;
    }
    for (std::size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] < 0) {
        slots_[slot] = static_cast<std::int64_t>(starts_.size());
        starts_.push_back(characters);
        return slots_[slot];
      }
      const double *known = starts_[static_cast<std::size_t>(slots_[slot])];
      if (std::all_of(places_.begin(), places_.end(), [&](std::int64_t i) { return known[i] == characters[i]; }))
        return slots_[slot];
    }
  }

  void add(std::span<const double> string) {
    numbers_.clear();
    for (std::size_t i = 0; i < windows_of(string); ++i)
      numbers_.push_back(number(string.data() + i));
    std::sort(numbers_.begin(), numbers_.end());
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (i > 0 && numbers_[i] == numbers_[i - 1])
        lists_.back().count += 1.0;
      else
        lists_.push_back({numbers_[i], 1.0});
    offsets_.push_back(lists_.size());
  }

  std::size_t length_;
  std::span<const std::int64_t> places_;
  std::vector<std::int64_t> slots_, numbers_;
  std::vector<const double *> starts_; // where a word occurs first
  std::vector<Occurrences> lists_;
  std::vector<std::size_t> offsets_;
};

// The strings [begin, end) that hold each word.
class StringsByWord {
public:
  StringsByWord(const WordCounts &counts, Index begin, Index end)
      : offsets_(static_cast<std::size_t>(counts.words()) + 1, 0) {
    for (Index i = begin; i < end; ++i)
      for (const Occurrences &o : counts.in_string(i))
        ++offsets_[static_cast<std::size_t>(o.number) + 1];
    for (std::size_t u = 1; u < offsets_.size(); ++u)
      offsets_[u] += offsets_[u - 1];
    lists_.resize(offsets_.back());
    std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
    for (Index i = begin; i < end; ++i)
      for (const Occurrences &o : counts.in_string(i))
        lists_[next[static_cast<std::size_t>(o.number)]++] = {i - begin, o.count};
  }

  std::span<const Occurrences> operator[](Index word) const {
    const auto begin = offsets_[static_cast<std::size_t>(word)];
    return std::span(lists_).subspan(begin, offsets_[static_cast<std::size_t>(word) + 1] - begin);
  }

private:
  std::vector<std::size_t> offsets_;
  std::vector<Occurrences> lists_;
};

// The block m x n.
inline void spectrum_kernel(const Strings &s, const Strings &t, Index length, std::span<const std::int64_t> places,
                            int threads, std::span<double> out) {
  const WordCounts counts(s, t, length, places);
  const Index m = s.count(), n = t.count();
  const StringsByWord holders(counts, m, m + n);
  parallel(m, threads, [&](Index i, int) {
    double *row = out.data() + i * n;
    std::fill(row, row + n, 0.0);
    for (const Occurrences &own : counts.in_string(i))
      for (const Occurrences &other : holders[static_cast<Index>(own.number)])
        row[other.number] += own.count * other.count;
  });
}

} // namespace tenfold
