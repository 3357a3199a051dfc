// Text to rows of numbers: records of fields, some of which are the columns of a matrix.
//
// A record is a line of as many fields as `place` has entries: place[f] is the column that field f goes to, or -1 where
// it is passed over. Lines end in "\n" or "\r\n", the last one perhaps in nothing; empty lines are no records. A field
// that is read is a number with spaces or tabs around it; one that is passed over is anything, also in quotation marks.
//
// Everything else (words, missing or quoted values, too few fields, numbers that double does not have) is not claimed:
// the loop stops, says so, and whoever knows all of CSV reads the text again. The same goes, in columns marked in
// `whole`, for whole numbers that double may not have: from 2^53 on, and a zero with a minus sign.
// Bytes: the text once, the matrix once.
#pragma once

#include "tenfold/decimal.hpp"
#include "tenfold/types.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenfold {

struct Records {
  std::span<const char> text;
  char delimiter;
  std::span<const std::int32_t> place;
  Index columns; // of the matrix
};

constexpr Index not_claimed = -1;

struct Cut {
  Index size = 0;  // bytes of whole records
  Index lines = 0; // line breaks among them
};

// Where the last whole record of a text ends that begins with one: at a line break after an even number of quotation
// marks.
inline Cut whole_records(std::span<const char> text) {
  const char *at = text.data(), *const end = at + text.size();
  const auto find = [](const char *from, const char *to, char c) {
    return static_cast<const char *>(std::memchr(from, c, static_cast<std::size_t>(to - from)));
  };
  Cut cut;
  bool inside = false;
  for (Index lines = 1; at < end; ++lines) {
    const char *const stop = find(at, end, '\n');
    if (stop == nullptr)
      break;
    for (; (at = find(at, stop, '"')) != nullptr; ++at)
      inside = !inside;
    at = stop + 1;
    if (!inside)
      cut = {at - text.data(), lines};
  }
  return cut;
}

// What follows a line break at `at`; null where there is none.
inline const char *after_line_break(const char *at, const char *end) {
  if (*at == '\n')
    return at + 1;
  return *at == '\r' && end - at >= 2 && at[1] == '\n' ? at + 2 : nullptr;
}

inline const char *after_spaces(const char *at, const char *end, char delimiter) {
  while (at < end && static_cast<unsigned char>(*at) <= ' ' && (*at == ' ' || *at == '\t') && *at != delimiter)
    ++at;
  return at;
}

// The first character that is the delimiter or, like line breaks and quotation marks, comes at or before '"' in ASCII.
// Before that it passes over pieces of sixteen characters that have fewer than `count` delimiters and nothing else of
// this kind, and takes their delimiters off `count`, which is at least 1.
inline const char *to_mark(const char *at, const char *end, char delimiter, [[maybe_unused]] Index &count) {
#if defined(__SSE4_1__)
  for (; end - at >= 16; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
    const __m128i ends = _mm_cmpeq_epi8(text, _mm_set1_epi8(delimiter));
    const __m128i marks = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8('"')), text));
    const auto end_bits = static_cast<unsigned>(_mm_movemask_epi8(ends));
    const auto mark_bits = static_cast<unsigned>(_mm_movemask_epi8(marks));
    const Index passed = std::popcount(end_bits);
    if (mark_bits != end_bits || passed >= count)
      return at + std::countr_zero(mark_bits);
    count -= passed;
  }
#endif
  while (at < end && *at != delimiter && static_cast<unsigned char>(*at) > '"')
    ++at;
  return at;
}

// Passes over `count` fields and returns the end of the last; null where there are fewer, or where quotation marks are
// not closed or stand for something else.
inline const char *over_fields(const char *at, const char *end, char delimiter, Index count) {
  const char *const start = at;
  for (;;) {
    const auto begins = [&] { return at == start || at[-1] == delimiter; };
    if (at < end && *at == '"' && begins()) {
      do { // a quotation mark inside is written twice
        at = static_cast<const char *>(std::memchr(at + 1, '"', static_cast<std::size_t>(end - at - 1)));
        if (at == nullptr)
          return nullptr;
        ++at;
      } while (at < end && *at == '"');
      if (at < end && *at != delimiter && *at != '\n' && *at != '\r')
        return nullptr;
    } else {
      at = to_mark(at, end, delimiter, count);
    }
    if (at == end || *at == '\n' || *at == '\r')
      return count == 1 ? at : nullptr;
    if (*at == delimiter) {
      if (--count == 0)
        return at;
      ++at;
    } else if (*at != '"' || !begins()) {
      ++at; // a space or the like, inside a field
    }
  }
}

// Fills `out`, which has room for `most` rows, and clears the entries of `whole` (columns) where something else was
// met. Returns the number of rows, or not_claimed.
inline Index read_records(const Records &in, Index most, std::span<double> out, std::span<std::uint8_t> whole) {
  const char *at = in.text.data(), *const end = at + in.text.size();
  const char delimiter = in.delimiter;
  const auto fields = static_cast<Index>(in.place.size());
  const std::int32_t *const place = in.place.data();
  double *row = out.data();
  Index rows = 0;
  while (at < end) {
    if (const char *next = after_line_break(at, end)) {
      at = next;
      continue;
    }
    if (rows == most)
      return not_claimed;
    for (Index field = 0; field < fields;) {
      const std::int32_t column = place[field];
      if (column < 0) {
        const Index first = field;
        while (field < fields && place[field] < 0)
          ++field;
        at = over_fields(at, end, delimiter, field - first);
        if (at == nullptr)
          return not_claimed;
      } else {
        ++field;
        const Number number = read_number(after_spaces(at, end, delimiter), end);
        if (number.end == nullptr)
          return not_claimed;
        at = after_spaces(number.end, end, delimiter);
        row[column] = number.value;
        if (whole.data()[column] != 0) {
          constexpr auto limit = static_cast<double>(exact_whole);
          const bool safe = std::abs(number.value) < limit && !(number.value == 0.0 && std::signbit(number.value));
          if (number.whole && !safe)
            return not_claimed;
          whole.data()[column] = number.whole ? 1 : 0;
        }
      }
      if (field < fields) {
        if (at == end || *at != delimiter)
          return not_claimed;
        ++at;
      }
    }
    if (at < end && (at = after_line_break(at, end)) == nullptr)
      return not_claimed;
    row += in.columns;
    ++rows;
  }
  return rows;
}

} // namespace tenfold
