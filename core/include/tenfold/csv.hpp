// Text to rows of numbers: records of fields, some of which are the columns of a matrix.
//
// A record is a line of as many fields as `place` has entries: place[f] is the column that field f goes to, or -1 where
// it is passed over. Lines end in "\n" or "\r\n", the last one perhaps in nothing; blank lines are no records, and are
// listed. Plain numbers, with spaces, tabs or quotation marks around them, become entries of the matrix. Whatever else
// stands in a column (words, nothing, numbers that double does not have; in columns of whole numbers also those from
// 2^53 on, and a zero with a minus sign; in columns of text everything) is listed with its place in the text, and NaN
// in the matrix.
//
// Records with too few or too many fields, line breaks of other kinds, and blanks or text between a quotation mark and
// the delimiter are not claimed: the loop stops, says so, and whoever knows all of CSV reads the text again.
// Bytes: the text once, the matrix once.
#pragma once

#include "tenfold/decimal.hpp"
#include "tenfold/types.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

enum ColumnKind : std::uint8_t { number_column, whole_column, text_column };

// How the text is written.
struct Dialect {
  char delimiter = ',';
  char quote = '"'; // '\0' where quotation marks mean nothing
  char decimal = '.';
};

struct Records {
  std::span<const char> text;
  Dialect dialect;
  std::span<const std::int32_t> place;
  Index columns; // of the matrix
};

// A cell that is not in the matrix: its bytes in the text, quotation marks included.
struct OtherCell {
  std::int64_t row, column, begin, end;
};

struct BlankLine {
  std::int64_t begin, end;
};

constexpr Index not_claimed = -1;

struct Cut {
  Index size = 0;  // bytes of whole records
  Index lines = 0; // line breaks among them
};

inline const char *after_spaces(const char *at, const char *end, char delimiter) {
  while (at < end && static_cast<unsigned char>(*at) <= ' ' && (*at == ' ' || *at == '\t') && *at != delimiter)
    ++at;
  return at;
}

// Where the last whole record of a text ends that begins with one: at a line break outside of quotation marks, which
// open a field where nothing but blanks comes before them.
inline Cut whole_records(std::span<const char> text, const Dialect &dialect) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto find = [](const char *from, const char *to, char c) {
    return static_cast<const char *>(std::memchr(from, c, static_cast<std::size_t>(to - from)));
  };
  const auto opens = [&](const char *mark) {
    while (mark > begin && (mark[-1] == ' ' || mark[-1] == '\t') && mark[-1] != dialect.delimiter)
      --mark;
    return mark == begin || mark[-1] == dialect.delimiter || mark[-1] == '\n';
  };
  Cut cut;
  bool inside = false;
  const char *at = begin;
  for (Index lines = 1; at < end; ++lines) {
    const char *const stop = find(at, end, '\n');
    if (stop == nullptr)
      break;
    while (dialect.quote != '\0' && (at = find(at, stop, dialect.quote)) != nullptr) {
      if (!inside)
        inside = opens(at);
      else if (at[1] == dialect.quote)
        ++at; // written twice: a character
      else
        inside = false;
      ++at;
    }
    at = stop + 1;
    if (!inside)
      cut = {at - begin, lines};
  }
  return cut;
}

// What follows a line break at `at`; null where there is none.
inline const char *after_line_break(const char *at, const char *end) {
  if (*at == '\n')
    return at + 1;
  return *at == '\r' && end - at >= 2 && at[1] == '\n' ? at + 2 : nullptr;
}

// The first character that is the delimiter or, like line breaks, spaces and quotation marks, at or before `last` in
// ASCII. Before that it passes over pieces of sixteen characters that have fewer than `count` delimiters and nothing
// else of this kind, and takes their delimiters off `count`, which is at least 1.
inline const char *to_mark(const char *at, const char *end, char delimiter, char last, [[maybe_unused]] Index &count) {
#if defined(__SSE4_1__)
  for (; end - at >= 16; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
    const __m128i ends = _mm_cmpeq_epi8(text, _mm_set1_epi8(delimiter));
    const __m128i marks = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(last)), text));
    const auto end_bits = static_cast<unsigned>(_mm_movemask_epi8(ends));
    const auto mark_bits = static_cast<unsigned>(_mm_movemask_epi8(marks));
    const Index passed = std::popcount(end_bits);
    if (mark_bits != end_bits || passed >= count)
      return at + std::countr_zero(mark_bits);
    count -= passed;
  }
#endif
  while (at < end && *at != delimiter && static_cast<unsigned char>(*at) > static_cast<unsigned char>(last))
    ++at;
  return at;
}

// Passes over `count` fields and returns the end of the last; null where there are fewer, or where quotation marks are
// not closed or stand for something else.
inline const char *over_fields(const char *at, const char *end, const Dialect &dialect, Index count) {
  const auto [delimiter, quote, decimal] = dialect;
  const char last = quote == '\0' ? '\r' : quote;
  const char *const start = at;
  for (;;) {
    const auto begins = [&] { return at == start || at[-1] == delimiter; };
    if (quote != '\0' && at < end && begins()) {
      if (*at == quote) {
        do { // a quotation mark inside is written twice
          at = static_cast<const char *>(std::memchr(at + 1, quote, static_cast<std::size_t>(end - at - 1)));
          if (at == nullptr)
            return nullptr;
          ++at;
        } while (at < end && *at == quote);
        if (at < end && *at != delimiter && *at != '\n' && *at != '\r')
          return nullptr;
      } else if (*at == ' ' || (*at == '\t' && delimiter != '\t')) {
        at = after_spaces(at, end, delimiter);
        if (at < end && *at == quote)
          return nullptr;
      }
    }
    at = to_mark(at, end, delimiter, last, count);
    if (at == end || *at == '\n' || *at == '\r')
      return count == 1 ? at : nullptr;
    if (*at == delimiter) {
      if (--count == 0)
        return at;
      ++at;
    } else if (quote == '\0' || !begins() || (*at != quote && *at != ' ' && *at != '\t')) {
      ++at; // a space or the like, inside a field
    }
  }
}

inline bool ends_field(const char *at, const char *end, char delimiter) {
  return at == end || *at == delimiter || *at == '\n' || *at == '\r';
}

// The number that a field is, perhaps in quotation marks; its end is that of the field, or null.
inline Number field_number(const char *at, const char *end, const Dialect &dialect) {
  const auto [delimiter, quote, decimal] = dialect;
  const bool quoted = at < end && *at == quote;
  // a decimal sign that divides fields as well is one between quotation marks
  const char point = quoted || decimal != delimiter ? decimal : '.';
  Number number = read_number(after_spaces(quoted ? at + 1 : at, end, delimiter), end, point);
  if (number.end == nullptr)
    return number;
  number.end = after_spaces(number.end, end, delimiter);
  if (quoted)
    number.end = number.end < end && *number.end == quote ? number.end + 1 : nullptr;
  if (number.end != nullptr && !ends_field(number.end, end, delimiter))
    number.end = nullptr;
  return number;
}

// Whether a number of a column of whole numbers is one that double has for certain, sign and all.
inline bool surely_exact(double value) {
  return std::abs(value) < static_cast<double>(exact_whole) && !(value == 0.0 && std::signbit(value));
}

// Fills `out`, which has room for `most` rows. A column in `kinds` that is whole becomes one of numbers where something
// else was met. Returns the number of rows, or not_claimed.
inline Index read_records(const Records &in, Index most, std::span<double> out, std::span<std::uint8_t> kinds,
                          std::vector<OtherCell> &others, std::vector<BlankLine> &blanks) {
  const char *at = in.text.data(), *const end = at + in.text.size();
  const Dialect &dialect = in.dialect;
  const auto fields = static_cast<Index>(in.place.size());
  const std::int32_t *const place = in.place.data();
  double *row = out.data();
  Index rows = 0;
  while (at < end) {
    if (static_cast<unsigned char>(*at) <= ' ') {
      const char *const stop = after_spaces(at, end, dialect.delimiter);
      if (const char *next = stop == end ? end : after_line_break(stop, end)) {
        blanks.push_back({at - in.text.data(), next - in.text.data()});
        at = next;
        continue;
      }
    }
    if (rows == most)
      return not_claimed;
    for (Index field = 0; field < fields;) {
      const std::int32_t column = place[field];
      if (column < 0) {
        const Index first = field;
        while (field < fields && place[field] < 0)
          ++field;
        at = over_fields(at, end, dialect, field - first);
        if (at == nullptr)
          return not_claimed;
      } else {
        ++field;
        std::uint8_t &kind = kinds.data()[column];
        const Number number = kind == text_column ? Number{} : field_number(at, end, dialect);
        if (number.end != nullptr && (kind == number_column || !number.whole || surely_exact(number.value))) {
          row[column] = number.value;
          at = number.end;
          if (!number.whole)
            kind = number_column;
        } else {
          const char *const stop = over_fields(at, end, dialect, 1);
          if (stop == nullptr)
            return not_claimed;
          row[column] = std::numeric_limits<double>::quiet_NaN();
          others.push_back({rows, column, at - in.text.data(), stop - in.text.data()});
          at = stop;
        }
      }
      if (field < fields) {
        if (at == end || *at != dialect.delimiter)
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
