// N-grams of small texts, at the end of their memory, and counts that do not depend on the number of threads.
#include "check.hpp"

#include "tenfold/term_counts.hpp"

#include <map>
#include <random>
#include <string>

using namespace tenfold;
using namespace tenfold::test;

namespace {

// Letters and digits of ASCII and all other code points are of words; tab, line break and blank are spaces.
struct Classes {
  std::vector<std::uint8_t> words = std::vector<std::uint8_t>(0x110000 / 8), spaces = words;
  Classes() {
    for (std::uint32_t c = 0; c < 0x110000; ++c)
      if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 128)
        words[c >> 3] = static_cast<std::uint8_t>(words[c >> 3] | 1U << (c & 7U));
    for (const std::uint32_t c : {9U, 10U, 32U})
      spaces[c >> 3] = static_cast<std::uint8_t>(spaces[c >> 3] | 1U << (c & 7U));
  }
};

const Classes &classes() {
  static const Classes both;
  return both;
}

NgramRules rules_of(Analyzer analyzer, Index min_n, Index max_n, Index shortest = 2) {
  return {analyzer, min_n, max_n, shortest, true, {classes().words}, {classes().spaces}, nullptr};
}

template <class Char> Text text_of(const std::vector<Char> &letters, bool ascii) {
  return {letters.data(), static_cast<Index>(letters.size()), static_cast<int>(sizeof(Char)), ascii};
}

std::string joined(const NgramRules &rules, const Text &text) {
  std::string result;
  Ngrams(rules).each(text, [&](std::string_view term) { result += std::string(term) + "|"; });
  return result;
}

void check_ngrams(const NgramRules &rules, const std::string &text, const std::string &expected) {
  const std::vector<std::uint8_t> narrow(text.begin(), text.end());
  check(joined(rules, text_of(narrow, true)) == expected, "n-grams of " + text);
}

void test_ngrams() {
  check_ngrams(rules_of(Analyzer::word, 1, 1), "The cat, a Cat!", "the|cat|cat|");
  check_ngrams(rules_of(Analyzer::word, 1, 2), "The cat, a Cat!", "the|cat|cat|the cat|cat cat|");
  check_ngrams(rules_of(Analyzer::word, 1, 1, 1), "a b", "a|b|");
  check_ngrams(rules_of(Analyzer::word, 2, 9), "", "");
  check_ngrams(rules_of(Analyzer::characters, 2, 3), "a \t b", "a | b|a b|");
  check_ngrams(rules_of(Analyzer::inside_words, 2, 5), "ab c", " a|ab|b | ab|ab | ab | c|c | c |");
  const std::vector<std::uint16_t> wide{0xd800, 'x', 0x3b1};
  check(joined(rules_of(Analyzer::characters, 1, 1), text_of(wide, false)) == "\xed\xa0\x80|x|\xce\xb1|", "16 bits");
  const std::vector<std::uint32_t> full{0x1f600, 0x10ffff, 'y'};
  check(joined(rules_of(Analyzer::word, 1, 1), text_of(full, false)) == "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbfy|",
        "32 bits");
}

void test_threads() {
  std::mt19937_64 random(0);
  std::vector<std::vector<std::uint8_t>> documents(200);
  for (auto &document : documents)
    for (std::uint64_t k = random() % 300; k > 0; --k)
      document.push_back(static_cast<std::uint8_t>("ab cd\n,e0X"[random() % 10]));
  std::vector<Text> texts;
  for (const auto &document : documents)
    texts.push_back(text_of(document, true));
  for (const Analyzer analyzer : {Analyzer::word, Analyzer::characters, Analyzer::inside_words}) {
    const NgramRules rules = rules_of(analyzer, 1, 3, 1);
    std::vector<std::map<std::string, int>> expected;
    for (const Text &text : texts) {
      auto &row = expected.emplace_back();
      Ngrams(rules).each(text, [&](std::string_view term) { ++row[std::string(term)]; });
    }
    for (const int threads : {1, 2, 7, 300}) {
      TermCounts counts;
      counts.add(std::span(texts).first(90), rules, threads);
      counts.add(std::span(texts).subspan(90), rules, threads);
      std::vector<std::int64_t> column(static_cast<std::size_t>(counts.table().size()));
      std::iota(column.begin(), column.end(), 0);
      std::vector<std::int64_t> ends(texts.size());
      counts.count_entries(column, ends);
      std::vector<std::int32_t> indices(static_cast<std::size_t>(ends.back())), values(indices.size());
      counts.fill(column, ends, indices, values, true, threads);
      bool same = counts.texts() == static_cast<Index>(texts.size());
      for (std::size_t i = 0, k = 0; i < texts.size(); ++i) {
        std::map<std::string, int> row;
        for (; k < static_cast<std::size_t>(ends[i]); ++k)
          row[std::string(counts.table().term(indices[k]))] = values[k];
        same = same && row == expected[i];
      }
      const auto order = counts.order(threads);
      for (std::size_t k = 1; k < order.size(); ++k)
        same = same && counts.table().term(order[k - 1]) < counts.table().term(order[k]);
      check(same, "counts on " + std::to_string(threads) + " threads");
    }
  }
}

void test_hashes() {
  check(murmur3("") == 0 && murmur3("hello") == 613153351 && murmur3("hello, world") == 345750399, "MurmurHash3");
}

} // namespace

int main() {
  test_ngrams();
  test_threads();
  test_hashes();
  return result();
}
