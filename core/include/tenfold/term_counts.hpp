// Counts of the n-grams of texts, on several threads, in the order and with the numbers that one thread would give.
//
// A thread counts a range of neighbouring texts into a table of its own. The tables are then merged in the order of
// the ranges: a term is new to the whole where it is new to a range, so numbers follow the first occurrence. The cost
// of a merge is that of the distinct terms of a range, not of its tokens.
#pragma once

#include "tenfold/ngrams.hpp"
#include "tenfold/term_table.hpp"
#include "tenfold/thread_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

// Rows of a sparse matrix: terms and counts of each text, one after the other.
struct TermRows {
  std::vector<TermTable::Number> terms;
  std::vector<std::int32_t> counts;
  std::vector<Index> ends; // of each row
};

// The begin of each of `parts` ranges of texts with about equal characters, and the end.
inline std::vector<Index> split_texts(std::span<const Text> texts, Index parts) {
  Index total = 0;
  for (const Text &text : texts)
    total += text.length + 1;
  std::vector<Index> begins{0};
  Index seen = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    seen += texts[i].length + 1;
    if (seen * parts >= total * static_cast<Index>(begins.size()) && static_cast<Index>(begins.size()) < parts)
      begins.push_back(static_cast<Index>(i) + 1);
  }
  begins.push_back(static_cast<Index>(texts.size()));
  return begins;
}

// Counts one text after the other; the numbers of terms come from `lookup`, none for those that are left out.
class RowCounter {
public:
  template <class Lookup> void add(Ngrams &ngrams, const Text &text, TermRows &rows, Lookup &&lookup) {
    ++text_;
    const std::size_t begin = rows.terms.size();
    ngrams.each(text, [&](std::string_view term) {
      const TermTable::Number number = lookup(term, hash_term(term));
      if (number == TermTable::none)
        return;
      if (number >= seen_.size())
        seen_.resize(std::max<std::size_t>(number + std::size_t{1}, 2 * seen_.size()));
      Seen &last = seen_[number];
      if (last.text == text_) {
        ++rows.counts[begin + last.place];
        return;
      }
      last = {text_, static_cast<std::uint32_t>(rows.terms.size() - begin)};
      rows.terms.push_back(number);
      rows.counts.push_back(1);
    });
    rows.ends.push_back(static_cast<Index>(rows.terms.size()));
  }

private:
  struct Seen {
    std::uint32_t text = 0, place = 0; // the last text with the term, and its place in the row
  };
  std::vector<Seen> seen_;
  std::uint32_t text_ = 0;
};

class TermCounts {
public:
  const TermTable &table() const { return table_; }
  TermTable &table() { return table_; }

  Index texts() const {
    Index sum = 0;
    for (const TermRows &rows : parts_)
      sum += static_cast<Index>(rows.ends.size());
    return sum;
  }

  Index entries() const {
    Index sum = 0;
    for (const TermRows &rows : parts_)
      sum += static_cast<Index>(rows.terms.size());
    return sum;
  }

  // Count texts.
  void add(std::span<const Text> texts, const NgramRules &rules, int threads) {
    const std::size_t before = parts_.size();
    std::vector<TermTable> tables(static_cast<std::size_t>(threads));
    count(texts, rules, threads, [&](std::size_t k) {
      return [&table = tables[k]](std::string_view t, std::uint64_t h) { return table.insert(t, h); };
    });
    tables.resize(parts_.size() - before);
    merge(tables, before, threads);
  }

  // Count the terms that another table has, by its numbers.
  void add_known(std::span<const Text> texts, const NgramRules &rules, const TermTable &known, int threads) {
    count(texts, rules, threads,
          [&](std::size_t) { return [&known](std::string_view t, std::uint64_t h) { return known.find(t, h); }; });
  }

  // Texts that have each term, and how often it occurs.
  void totals(std::span<std::int64_t> texts, std::span<std::int64_t> occurrences) const {
    for (const TermRows &rows : parts_)
      for (std::size_t i = 0; i < rows.terms.size(); ++i) {
        ++texts[rows.terms[i]];
        occurrences[rows.terms[i]] += rows.counts[i];
      }
  }

  // The numbers of the terms in the order of their code points, which is that of the bytes of UTF-8.
  std::vector<std::int64_t> order(int threads) const {
    std::vector<Key> keys(static_cast<std::size_t>(table_.size()));
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = {head(table_.term(static_cast<Index>(i))), static_cast<std::int64_t>(i)};
    const auto less = [&](const Key &a, const Key &b) {
      return a.head != b.head ? a.head < b.head : table_.term(a.number) < table_.term(b.number);
    };
    const Index parts = std::clamp<Index>(threads, 1, 16);
    const auto at = [&](Index k) {
      return keys.begin() + static_cast<std::ptrdiff_t>(static_cast<Index>(keys.size()) * k / parts);
    };
    parallel(parts, threads, [&](Index k, int) { std::sort(at(k), at(k + 1), less); });
    for (Index k = 1; k < parts; ++k)
      std::inplace_merge(keys.begin(), at(k), at(k + 1), less);
    std::vector<std::int64_t> numbers(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      numbers[i] = keys[i].number;
    return numbers;
  }

  // The end of each row in the matrix of the terms with a column, column[term] >= 0.
  void count_entries(std::span<const std::int64_t> column, std::span<std::int64_t> ends) const {
    std::size_t row = 0;
    std::int64_t total = 0;
    for (const TermRows &rows : parts_) {
      std::size_t i = 0;
      for (const Index end : rows.ends) {
        for (; i < static_cast<std::size_t>(end); ++i)
          total += column[rows.terms[i]] >= 0;
        ends[row++] = total;
      }
    }
  }

  // Columns and counts, within each row in the order of the columns, or of the numbers of the terms; `ends` are those
  // of `count_entries`.
  void fill(std::span<const std::int64_t> column, std::span<const std::int64_t> ends, std::span<std::int32_t> indices,
            std::span<std::int32_t> counts, bool by_column, int threads) const {
    std::vector<std::size_t> first(parts_.size() + 1, 0);
    for (std::size_t k = 0; k < parts_.size(); ++k)
      first[k + 1] = first[k] + parts_[k].ends.size();
    parallel(static_cast<Index>(parts_.size()), threads, [&](Index item, int) {
      const auto k = static_cast<std::size_t>(item);
      const TermRows &rows = parts_[k];
      std::vector<std::pair<std::int64_t, std::size_t>> sorted; // by what rows are ordered, and the place
      std::size_t i = 0;
      for (std::size_t r = 0; r < rows.ends.size(); ++r) {
        sorted.clear();
        for (; i < static_cast<std::size_t>(rows.ends[r]); ++i)
          if (const std::int64_t j = column[rows.terms[i]]; j >= 0)
            sorted.emplace_back(by_column ? j : std::int64_t{rows.terms[i]}, i);
        std::sort(sorted.begin(), sorted.end());
        const std::size_t row = first[k] + r;
        auto out = static_cast<std::size_t>(row == 0 ? 0 : ends[row - 1]);
        for (const auto &[order, place] : sorted) {
          indices[out] = static_cast<std::int32_t>(column[rows.terms[place]]);
          counts[out++] = rows.counts[place];
        }
      }
    });
  }

private:
  struct Key {
    std::uint64_t head;
    std::int64_t number;
  };

  // The first eight bytes, as a number that compares as they do; shorter terms are filled with zeros.
  static std::uint64_t head(std::string_view term) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i)
      value = value << 8 | (i < term.size() ? static_cast<unsigned char>(term[i]) : 0U);
    return value;
  }

  // Count ranges of texts, each with a lookup of its own.
  template <class Make>
  void count(std::span<const Text> texts, const NgramRules &rules, int threads, Make &&make_lookup) {
    const std::vector<Index> begins = split_texts(texts, threads);
    const std::size_t ranges = begins.size() - 1, before = parts_.size();
    parts_.resize(before + ranges);
    parallel(static_cast<Index>(ranges), threads, [&](Index item, int) {
      const auto k = static_cast<std::size_t>(item);
      Ngrams ngrams(rules);
      RowCounter counter;
      const auto lookup = make_lookup(k);
      for (Index i = begins[k]; i < begins[k + 1]; ++i)
        counter.add(ngrams, texts[static_cast<std::size_t>(i)], parts_[before + k], lookup);
    });
  }

  void merge(std::vector<TermTable> &tables, std::size_t before, int threads) {
    std::vector<std::vector<TermTable::Number>> numbers(tables.size());
    for (std::size_t k = 0; k < tables.size(); ++k) {
      if (table_.size() == 0) {
        table_ = std::move(tables[k]); // the first range has the numbers of the whole
        continue;
      }
      numbers[k].reserve(static_cast<std::size_t>(tables[k].size()));
      for (Index i = 0; i < tables[k].size(); ++i)
        numbers[k].push_back(table_.insert(tables[k].term(i), tables[k].hash(i)));
      tables[k] = TermTable();
    }
    parallel(static_cast<Index>(tables.size()), threads, [&](Index item, int) {
      const auto k = static_cast<std::size_t>(item);
      if (!numbers[k].empty())
        for (TermTable::Number &term : parts_[before + k].terms)
          term = numbers[k][term];
    });
  }

  TermTable table_;
  std::vector<TermRows> parts_;
};

// MurmurHash3 of 32 bits (Appleby), seed 0.
inline std::int32_t murmur3(std::string_view term) {
  constexpr std::uint32_t c1 = 0xcc9e2d51U, c2 = 0x1b873593U;
  const auto rotate = [](std::uint32_t x, int r) { return x << r | x >> (32 - r); };
  const std::size_t size = term.size(), blocks = size / 4;
  std::uint32_t h = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto k = load<std::uint32_t>(term.data() + 4 * i);
    h ^= rotate(k * c1, 15) * c2;
    h = rotate(h, 13) * 5 + 0xe6546b64U;
  }
  if (size % 4 != 0) {
    const auto k = static_cast<std::uint32_t>(load_bytes(term.data() + 4 * blocks, size % 4));
    h ^= rotate(k * c1, 15) * c2;
  }
  h ^= static_cast<std::uint32_t>(size);
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return static_cast<std::int32_t>(h ^ h >> 16);
}

// Rows of hashed n-grams: columns ascending within each row, and sums of signs (or counts).
inline std::vector<TermRows> hash_texts(std::span<const Text> texts, const NgramRules &rules, std::int32_t features,
                                        bool alternate, int threads) {
  const std::vector<Index> begins = split_texts(texts, threads);
  std::vector<TermRows> parts(begins.size() - 1);
  parallel(static_cast<Index>(parts.size()), threads, [&](Index item, int) {
    const auto k = static_cast<std::size_t>(item);
    Ngrams ngrams(rules);
    std::vector<std::uint64_t> sorted;
    TermRows &rows = parts[k];
    for (Index i = begins[k]; i < begins[k + 1]; ++i) {
      sorted.clear();
      ngrams.each(texts[static_cast<std::size_t>(i)], [&](std::string_view term) {
        const std::int32_t h = murmur3(term);
        // |-2^31| is taken as scikit-learn does
        const std::int64_t column =
            h == INT32_MIN ? (2147483647LL - (features - 1)) % features : std::int64_t{h < 0 ? -h : h} % features;
        sorted.push_back(static_cast<std::uint64_t>(column) << 1 | static_cast<std::uint64_t>(h < 0 && alternate));
      });
      std::sort(sorted.begin(), sorted.end());
      const std::size_t first = rows.terms.size();
      for (const std::uint64_t entry : sorted) {
        const auto column = static_cast<TermTable::Number>(entry >> 1);
        const std::int32_t sign = (entry & 1U) != 0 ? -1 : 1;
        if (rows.terms.size() > first && rows.terms.back() == column) {
          rows.counts.back() += sign;
        } else {
          rows.terms.push_back(column);
          rows.counts.push_back(sign);
        }
      }
      rows.ends.push_back(static_cast<Index>(rows.terms.size()));
    }
  });
  return parts;
}

} // namespace tenfold
