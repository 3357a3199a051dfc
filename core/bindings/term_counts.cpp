#include "bindings.hpp"

#include "tenfold/term_counts.hpp"

#include <nanobind/stl/string.h>

namespace tenfold {

namespace {

using Strings = nb::typed<nb::list, nb::str>;
using Vocabulary = nb::typed<nb::dict, nb::str, nb::int_>;

// The texts of a list of str, which keeps them alive.
std::vector<Text> texts_of(const Strings &documents) {
  std::vector<Text> texts;
  texts.reserve(documents.size());
  for (const nb::handle one : documents) {
    PyObject *object = one.ptr();
    require(PyUnicode_Check(object) != 0, "documents must be str");
    texts.push_back({PyUnicode_DATA(object), static_cast<Index>(PyUnicode_GET_LENGTH(object)),
                     static_cast<int>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0});
  }
  return texts;
}

std::string_view utf8(nb::handle term, nb::object &owner) {
  owner = nb::steal(PyUnicode_AsEncodedString(term.ptr(), "utf-8", "surrogatepass"));
  if (!owner.is_valid())
    throw nb::python_error();
  return {PyBytes_AS_STRING(owner.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(owner.ptr()))};
}

void insert_terms(TermTable &table, const Strings &terms) {
  nb::object owner;
  for (const nb::handle one : terms) {
    require(PyUnicode_Check(one.ptr()) != 0, "terms must be str");
    const std::string_view term = utf8(one, owner);
    table.insert(term, hash_term(term));
  }
}

// What texts are cut by; keeps the arrays and the stop words that it refers to.
class Rules {
public:
  Rules(const std::string &analyzer, Index min_n, Index max_n, Index shortest, bool lower, In<std::uint8_t, 1> words,
        In<std::uint8_t, 1> spaces, const Strings &stop)
      : words_(std::move(words)), spaces_(std::move(spaces)) {
    constexpr Index code_point_bytes = 0x110000 / 8;
    require(analyzer == "word" || analyzer == "char" || analyzer == "char_wb", "analyzer: word, char or char_wb");
    require(1 <= min_n && min_n <= max_n, "min_n must be at least 1, and at most max_n");
    require(words_.shape(0) == code_point_bytes && spaces_.shape(0) == code_point_bytes,
            "words and spaces must have a bit for each code point");
    insert_terms(stop_, stop);
    const Analyzer kind = analyzer == "word"   ? Analyzer::word
                          : analyzer == "char" ? Analyzer::characters
                                               : Analyzer::inside_words;
    rules_ = {kind, min_n, max_n, shortest, lower, {words_.span()}, {spaces_.span()}, nullptr};
  }

  NgramRules get() const {
    NgramRules rules = rules_;
    rules.stop = stop_.size() > 0 ? &stop_ : nullptr;
    return rules;
  }

private:
  In<std::uint8_t, 1> words_, spaces_;
  TermTable stop_;
  NgramRules rules_{};
};

Vocabulary vocabulary(const TermCounts &counts, std::span<const std::int64_t> column) {
  Vocabulary result;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] < 0)
      continue;
    const std::string_view term = counts.table().term(static_cast<Index>(i));
    const auto key =
        nb::steal(PyUnicode_DecodeUTF8(term.data(), static_cast<Py_ssize_t>(term.size()), "surrogatepass"));
    const auto value = nb::steal(PyLong_FromLongLong(column[i]));
    if (!key.is_valid() || !value.is_valid() || PyDict_SetItem(result.ptr(), key.ptr(), value.ptr()) != 0)
      throw nb::python_error();
  }
  return result;
}

auto rows_of(const TermCounts &counts, const In<std::int64_t, 1> &column, bool by_column, int threads) {
  require(std::ranges::all_of(column.span(), [](std::int64_t j) { return j >= -1 && j < INT32_MAX; }),
          "columns must fit in 31 bits");
  const Out<std::int64_t, 1> ends({counts.texts()});
  {
    const nb::gil_scoped_release release;
    counts.count_entries(column.span(), ends.span());
  }
  const Index entries = ends.span().empty() ? 0 : ends.span().back();
  const Out<std::int32_t, 1> indices({entries}), values({entries});
  {
    const nb::gil_scoped_release release;
    counts.fill(column.span(), ends.span(), indices.span(), values.span(), by_column, checked_threads(threads));
  }
  return std::make_tuple(ends.give(), indices.give(), values.give());
}

auto hashed(const Strings &documents, const Rules &rules, std::int32_t features, bool alternate, int threads) {
  require(features >= 1, "features must be at least 1");
  const std::vector<Text> texts = texts_of(documents);
  std::vector<TermRows> parts;
  Index entries = 0;
  {
    const nb::gil_scoped_release release;
    parts = hash_texts(texts, rules.get(), features, alternate, checked_threads(threads));
    for (const TermRows &rows : parts)
      entries += static_cast<Index>(rows.terms.size());
  }
  const Out<std::int64_t, 1> ends({static_cast<Index>(texts.size())});
  const Out<std::int32_t, 1> indices({entries}), values({entries});
  std::size_t row = 0, place = 0;
  for (const TermRows &rows : parts) {
    for (const Index end : rows.ends)
      ends.span()[row++] = static_cast<std::int64_t>(place) + end;
    std::ranges::transform(rows.terms, indices.span().begin() + static_cast<std::ptrdiff_t>(place),
                           [](TermTable::Number j) { return static_cast<std::int32_t>(j); });
    std::ranges::copy(rows.counts, values.span().begin() + static_cast<std::ptrdiff_t>(place));
    place += rows.terms.size();
  }
  return std::make_tuple(ends.give(), indices.give(), values.give());
}

} // namespace

void bind_term_counts(nb::module_ &m) {
  nb::class_<Rules>(m, "NgramRules", "What texts are cut by.")
      .def(nb::init<const std::string &, Index, Index, Index, bool, In<std::uint8_t, 1>, In<std::uint8_t, 1>,
                    const Strings &>(),
           nb::arg("analyzer"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("shortest"), nb::arg("lower"),
           nb::arg("words"), nb::arg("spaces"), nb::arg("stop"));
  nb::class_<TermCounts>(m, "TermCounts", "Counts of n-grams, numbered in the order of their first occurrence.")
      .def(nb::init<>())
      .def_prop_ro("terms", [](const TermCounts &self) { return self.table().size(); })
      .def_prop_ro("texts", &TermCounts::texts)
      .def_prop_ro("entries", &TermCounts::entries)
      .def(
          "insert", [](TermCounts &self, const Strings &terms) { insert_terms(self.table(), terms); }, nb::arg("terms"),
          "Give numbers to terms.")
      .def(
          "add",
          [](TermCounts &self, const Strings &documents, const Rules &rules, int threads) {
            const std::vector<Text> texts = texts_of(documents);
            const int count = checked_threads(threads);
            const nb::gil_scoped_release release;
            self.add(texts, rules.get(), count);
          },
          nb::arg("documents"), nb::arg("rules"), nb::arg("threads"), "Count the n-grams of a list of str.")
      .def(
          "count",
          [](const TermCounts &self, const Strings &documents, const Rules &rules, const In<std::int64_t, 1> &column,
             int threads) {
            const std::vector<Text> texts = texts_of(documents);
            const int count = checked_threads(threads);
            TermCounts rows;
            {
              const nb::gil_scoped_release release;
              rows.add_known(texts, rules.get(), self.table(), count);
            }
            require(column.shape(0) == self.table().size(), "column must have one entry a term");
            return rows_of(rows, column, true, count);
          },
          nb::arg("documents"), nb::arg("rules"), nb::arg("column"), nb::arg("threads"),
          "Counts of the terms with a number in other texts: (end of each row, columns ascending, counts).")
      .def(
          "totals",
          [](const TermCounts &self) {
            const Out<std::int64_t, 1> texts({self.table().size()}), occurrences({self.table().size()});
            std::ranges::fill(texts.span(), 0);
            std::ranges::fill(occurrences.span(), 0);
            {
              const nb::gil_scoped_release release;
              self.totals(texts.span(), occurrences.span());
            }
            return std::make_tuple(texts.give(), occurrences.give());
          },
          "Texts that have each term, and how often it occurs.")
      .def(
          "order",
          [](const TermCounts &self, int threads) {
            std::vector<std::int64_t> numbers;
            {
              const nb::gil_scoped_release release;
              numbers = self.order(checked_threads(threads));
            }
            const Index size = self.table().size();
            return give<std::int64_t, 1>(std::move(numbers), {size});
          },
          nb::arg("threads"), "The numbers of the terms in the order of their code points.")
      .def(
          "matrix",
          [](const TermCounts &self, const In<std::int64_t, 1> &column, int threads) {
            require(column.shape(0) == self.table().size(), "column must have one entry a term");
            return rows_of(self, column, false, threads);
          },
          nb::arg("column"), nb::arg("threads"),
          "The rows of all texts, term k in column[k], -1 to leave it out, each row in the order of the "
          "numbers of its terms: (end of each row, columns, counts).")
      .def(
          "vocabulary",
          [](const TermCounts &self, const In<std::int64_t, 1> &column) {
            require(column.shape(0) == self.table().size(), "column must have one entry a term");
            return vocabulary(self, column.span());
          },
          nb::arg("column"), "Terms and their columns, in the order of the numbers, without those of column -1.");
  m.def("hash_texts", &hashed, nb::arg("documents"), nb::arg("rules"), nb::arg("features"), nb::arg("alternate"),
        nb::arg("threads"), "Rows of hashed n-grams: (end of each row, columns, sums of signs).");
}

} // namespace tenfold
