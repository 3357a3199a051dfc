// The n-grams of a text, as scikit-learn defines them: of words, of characters, or of characters inside words.
//
// A text is given as Python stores it: characters of 1, 2 or 4 bytes. Which of them belong to words and which are
// spaces the running interpreter says, by a bit for each code point; for ASCII there is a table. The n-grams are
// slices of one buffer of UTF-8, in which words stand with a space between them.
#pragma once

#include "tenfold/term_table.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenfold {

struct Text {
  const void *data;
  Index length;
  int kind; // bytes of a character
  bool ascii;
};

enum class Analyzer { word, characters, inside_words };

// A set of code points, by a bit of each.
struct CodePoints {
  std::span<const std::uint8_t> bits;
  bool has(std::uint32_t c) const { return (bits[c >> 3] >> (c & 7U) & 1U) != 0; }
};

struct NgramRules {
  Analyzer analyzer;
  Index min_n, max_n;
  Index shortest; // word
  bool lower;     // the letters of texts in ASCII; others are in lower case
  CodePoints words, spaces;
  const TermTable *stop; // words that are left out, or null
};

class Ngrams {
public:
  explicit Ngrams(const NgramRules &rules) : rules_(rules) {
    for (std::uint32_t c = 0; c < 128; ++c) {
      is_space_[c] = rules.spaces.has(c);
      const bool upper = c >= 'A' && c <= 'Z' && rules.lower;
      lower_[c] = static_cast<char>(upper ? c + 32 : c);
      word_[c] = rules.words.has(c) ? lower_[c] : char{0};
    }
  }

  // Calls take(term) for each n-gram, in scikit-learn's order.
  template <class Take> void each(const Text &text, Take &&take) {
    starts_.clear();
    ends_.clear();
    out_ = 0;
    const auto length = static_cast<std::size_t>(text.length);
    const std::size_t widest = text.ascii ? 1U : static_cast<std::size_t>(text.kind) + 1U;
    const std::size_t room = (widest + 2U) * length + 16U; // each word may have two blanks
    if (buffer_.size() < room)
      buffer_.resize(room);
    switch (text.kind) {
    case 1:
      text.ascii ? read<std::uint8_t, true>(text, take) : read<std::uint8_t, false>(text, take);
      break;
    case 2:
      read<std::uint16_t, false>(text, take);
      break;
    default:
      read<std::uint32_t, false>(text, take);
    }
  }

private:
  template <class Char, bool ascii, class Take> void read(const Text &text, Take &&take) {
    const std::span<const Char> letters(static_cast<const Char *>(text.data), static_cast<std::size_t>(text.length));
    switch (rules_.analyzer) {
    case Analyzer::word:
      split_words<Char, ascii>(letters);
      take_slices(take);
      break;
    case Analyzer::characters:
      split_characters<Char, ascii>(letters);
      take_slices(take);
      break;
    default:
      take_inside_words<Char, ascii>(letters, take);
    }
  }

  template <bool ascii> bool is_word(std::uint32_t c) const { return ascii ? word_[c] != 0 : rules_.words.has(c); }
  template <bool ascii> bool is_space(std::uint32_t c) const { return ascii ? is_space_[c] : rules_.spaces.has(c); }

  // Append a character; surrogates that stand alone take three bytes as others do.
  template <bool ascii> void put(std::uint32_t c) {
    char *p = buffer_.data() + out_;
    if constexpr (ascii) {
      *p = lower_[c];
      ++out_;
    } else if (c < 0x80U) {
      *p = static_cast<char>(c);
      ++out_;
    } else if (c < 0x800U) {
      p[0] = static_cast<char>(0xc0U | c >> 6);
      p[1] = static_cast<char>(0x80U | (c & 0x3fU));
      out_ += 2;
    } else if (c < 0x10000U) {
      p[0] = static_cast<char>(0xe0U | c >> 12);
      p[1] = static_cast<char>(0x80U | (c >> 6 & 0x3fU));
      p[2] = static_cast<char>(0x80U | (c & 0x3fU));
      out_ += 3;
    } else {
      p[0] = static_cast<char>(0xf0U | c >> 18);
      p[1] = static_cast<char>(0x80U | (c >> 12 & 0x3fU));
      p[2] = static_cast<char>(0x80U | (c >> 6 & 0x3fU));
      p[3] = static_cast<char>(0x80U | (c & 0x3fU));
      out_ += 4;
    }
  }

  template <class Char, bool ascii> void split_words(std::span<const Char> letters) {
    const Char *p = letters.data(), *const end = p + letters.size();
    while (p != end) {
      while (p != end && !is_word<ascii>(*p))
        ++p;
      const std::size_t begin = out_;
      const Char *const first = p;
      if constexpr (ascii) {
        char *out = buffer_.data() + out_;
        for (char c = 0; p != end && (c = word_[*p]) != 0; ++p)
          *out++ = c;
        out_ += static_cast<std::size_t>(p - first);
      } else {
        for (; p != end && is_word<ascii>(*p); ++p)
          put<ascii>(*p);
      }
      const std::string_view word(buffer_.data() + begin, out_ - begin);
      const bool taken = p - first >= rules_.shortest && p != first &&
                         (rules_.stop == nullptr || rules_.stop->find(word, hash_term(word)) == TermTable::none);
      if (!taken) {
        out_ = begin;
        continue;
      }
      starts_.push_back(begin);
      ends_.push_back(out_);
      buffer_[out_++] = ' ';
    }
  }

  // Single spaces stay as they are, longer runs become one blank.
  template <class Char, bool ascii> void split_characters(std::span<const Char> letters) {
    const std::size_t size = letters.size();
    for (std::size_t i = 0; i < size; ++i) {
      starts_.push_back(out_);
      if (is_space<ascii>(letters[i]) && i + 1 < size && is_space<ascii>(letters[i + 1])) {
        while (i + 1 < size && is_space<ascii>(letters[i + 1]))
          ++i;
        buffer_[out_++] = ' ';
      } else {
        put<ascii>(letters[i]);
      }
      ends_.push_back(out_);
    }
  }

  // The slices of n neighbours, n by n.
  template <class Take> void take_slices(Take &&take) {
    const auto count = static_cast<Index>(starts_.size());
    for (Index n = rules_.min_n; n <= std::min(rules_.max_n, count); ++n)
      for (Index i = 0; i + n <= count; ++i)
        take(slice(i, i + n));
  }

  template <class Char, bool ascii, class Take> void take_inside_words(std::span<const Char> letters, Take &&take) {
    const std::size_t size = letters.size();
    for (std::size_t i = 0; i < size;) {
      while (i < size && is_space<ascii>(letters[i]))
        ++i;
      if (i == size)
        return;
      starts_.clear();
      ends_.clear();
      out_ = 0;
      blank();
      for (; i < size && !is_space<ascii>(letters[i]); ++i) {
        starts_.push_back(out_);
        put<ascii>(letters[i]);
        ends_.push_back(out_);
      }
      blank();
      const auto length = static_cast<Index>(starts_.size());
      for (Index n = rules_.min_n; n <= rules_.max_n; ++n) {
        take(slice(0, std::min(n, length)));
        Index offset = 0;
        while (offset + n < length) {
          ++offset;
          take(slice(offset, offset + n));
        }
        if (offset == 0)
          break; // a short word counts once
      }
    }
  }

  void blank() {
    starts_.push_back(out_);
    buffer_[out_++] = ' ';
    ends_.push_back(out_);
  }

  std::string_view slice(Index begin, Index end) const {
    const std::size_t first = starts_[static_cast<std::size_t>(begin)];
    return {buffer_.data() + first, ends_[static_cast<std::size_t>(end - 1)] - first};
  }

  NgramRules rules_;
  std::array<bool, 128> is_space_{};
  std::array<char, 128> lower_{}, word_{}; // letters as they are put, of words and zero
  std::vector<char> buffer_;
  std::size_t out_ = 0;
  std::vector<std::size_t> starts_, ends_;
};

} // namespace tenfold
