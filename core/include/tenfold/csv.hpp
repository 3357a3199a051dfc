// CSV text to a matrix of numbers.
//
// A record is a line of as many fields as `place` has entries: place[f] is the column that field f goes to, or -1 to
// skip it. Lines end in "\n" or "\r\n", the last one optionally in nothing; blank lines are skipped and reported. Plain
// numbers, with surrounding spaces, tabs or quotes, become entries of the matrix. Other cells (text, empty cells,
// numbers out of the range of double; in integer columns also those from 2^53 on, and negative zero; in text columns
// every cell) are reported with their position in the text, and are NaN in the matrix.
//
// Records with too few or too many fields, other line breaks, and characters between a closing quote and the delimiter
// are unsupported: the loop stops and reports this, and the general parser reads the text again. Bytes: the text once,
// the matrix once.
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

enum ColumnKind : std::uint8_t { number_column, integer_column, text_column };

struct Dialect {
  char delimiter = ',';
  char quote = '"'; // '\0': no quoting
  char decimal = '.';
};

struct Records {
  std::span<const char> text;
  Dialect dialect;
  std::span<const std::int32_t> place;
  Index columns; // of the matrix
};

// A cell that is not in the matrix: its byte range in the text, quotes included.
struct OtherCell {
  std::int64_t row, column, begin, end;
};

struct BlankLine {
  std::int64_t begin, end;
};

constexpr Index unsupported = -1;

struct Cut {
  Index size = 0;  // bytes of whole records
  Index lines = 0; // line breaks among them
};

inline const char *skip_spaces(const char *at, const char *end, char delimiter) {
  while (at < end && static_cast<unsigned char>(*at) <= ' ' && (*at == ' ' || *at == '\t') && *at != delimiter)
    ++at;
  return at;
}

// The end of the last complete record of a text that begins with one: a line break outside of quotes, which open a
// field where only blanks precede them.
inline Cut whole_records(std::span<const char> text, const Dialect &dialect) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto find = [](const char *from, const char *to, char c) {
    return static_cast<const char *>(std::memchr(from, c, static_cast<std::size_t>(to - from)));
  };
  const auto opens_quote = [&](const char *mark) {
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
        inside = opens_quote(at);
      else if (at[1] == dialect.quote)
        ++at; // a doubled quote is a character
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

// The character after a line break at `at`; null where there is none.
inline const char *skip_line_break(const char *at, const char *end) {
  if (*at == '\n')
    return at + 1;
  return *at == '\r' && end - at >= 2 && at[1] == '\n' ? at + 2 : nullptr;
}

// The first character that is the delimiter or at most `last` in ASCII (line breaks, spaces, quotes). Skips blocks of
// sixteen characters with fewer than `count` delimiters and no other such character, and subtracts their delimiters
// from `count`, which is at least 1.
inline const char *find_special(const char *at, const char *end, char delimiter, char last,
                                [[maybe_unused]] Index &count) {
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

// Skips `count` fields and returns the end of the last; null where there are fewer, or for unsupported quoting.
inline const char *skip_fields(const char *at, const char *end, const Dialect &dialect, Index count) {
  const auto [delimiter, quote, decimal] = dialect;
  const char last = quote == '\0' ? '\r' : quote;
  const char *const start = at;
  for (;;) {
    const auto begins = [&] { return at == start || at[-1] == delimiter; };
    if (quote != '\0' && at < end && begins()) {
      if (*at == quote) {
        do { // an inner quote is doubled
          at = static_cast<const char *>(std::memchr(at + 1, quote, static_cast<std::size_t>(end - at - 1)));
          if (at == nullptr)
            return nullptr;
          ++at;
        } while (at < end && *at == quote);
        if (at < end && *at != delimiter && *at != '\n' && *at != '\r')
          return nullptr;
      } else if (*at == ' ' || (*at == '\t' && delimiter != '\t')) {
        at = skip_spaces(at, end, delimiter);
        if (at < end && *at == quote)
          return nullptr;
      }
    }
    at = find_special(at, end, delimiter, last, count);
    if (at == end || *at == '\n' || *at == '\r')
      return count == 1 ? at : nullptr;
    if (*at == delimiter) {
      if (--count == 0)
        return at;
      ++at;
    } else if (quote == '\0' || !begins() || (*at != quote && *at != ' ' && *at != '\t')) {
      ++at; // a special character inside a field
    }
  }
}

inline bool ends_field(const char *at, const char *end, char delimiter) {
  return at == end || *at == delimiter || *at == '\n' || *at == '\r';
}

// Parses a field as a number, optionally quoted; its end is that of the field, or null.
inline Number field_number(const char *at, const char *end, const Dialect &dialect) {
  const auto [delimiter, quote, decimal] = dialect;
  const bool quoted = at < end && *at == quote;
  // a decimal comma that is also the delimiter is decimal only within quotes
  const char point = quoted || decimal != delimiter ? decimal : '.';
  Number number = read_number(skip_spaces(quoted ? at + 1 : at, end, delimiter), end, point);
  if (number.end == nullptr)
    return number;
  number.end = skip_spaces(number.end, end, delimiter);
  if (quoted)
    number.end = number.end < end && *number.end == quote ? number.end + 1 : nullptr;
  if (number.end != nullptr && !ends_field(number.end, end, delimiter))
    number.end = nullptr;
  return number;
}

// Whether an integer is represented exactly, sign included.
inline bool is_exact_integer(double value) {
  return std::abs(value) < static_cast<double>(exact_whole) && !(value == 0.0 && std::signbit(value));
}

// Fills `out`, which has room for `most` rows. An integer column in `kinds` becomes a number column when another number
// is read. Returns the number of rows, or `unsupported`.
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
      const char *const stop = skip_spaces(at, end, dialect.delimiter);
      if (const char *next = stop == end ? end : skip_line_break(stop, end)) {
        blanks.push_back({at - in.text.data(), next - in.text.data()});
        at = next;
        continue;
      }
    }
    if (rows == most)
      return unsupported;
    for (Index field = 0; field < fields;) {
      const std::int32_t column = place[field];
      if (column < 0) {
        const Index first = field;
        while (field < fields && place[field] < 0)
          ++field;
        at = skip_fields(at, end, dialect, field - first);
        if (at == nullptr)
          return unsupported;
      } else {
        ++field;
        std::uint8_t &kind = kinds.data()[column];
        const Number number = kind == text_column ? Number{} : field_number(at, end, dialect);
        if (number.end != nullptr && (kind == number_column || !number.whole || is_exact_integer(number.value))) {
          row[column] = number.value;
          at = number.end;
          if (!number.whole)
            kind = number_column;
        } else {
          const char *const stop = skip_fields(at, end, dialect, 1);
          if (stop == nullptr)
            return unsupported;
          row[column] = std::numeric_limits<double>::quiet_NaN();
          others.push_back({rows, column, at - in.text.data(), stop - in.text.data()});
          at = stop;
        }
      }
      if (field < fields) {
        if (at == end || *at != dialect.delimiter)
          return unsupported;
        ++at;
      }
    }
    if (at < end && (at = skip_line_break(at, end)) == nullptr)
      return unsupported;
    row += in.columns;
    ++rows;
  }
  return rows;
}

} // namespace tenfold
