#include "bindings.hpp"

#include "tenfold/csv.hpp"

#include <nanobind/stl/vector.h>

namespace tenfold {

namespace {

std::span<const char> characters(const In<std::uint8_t, 1> &text) {
  return {reinterpret_cast<const char *>(text.data()), text.span().size()};
}

Dialect dialect_of(int delimiter, int quote, int decimal) {
  return {static_cast<char>(delimiter), static_cast<char>(quote), static_cast<char>(decimal)};
}

} // namespace

void bind_csv(nb::module_ &m) {
  m.def(
      "csv_cut",
      [](const In<std::uint8_t, 1> &text, int delimiter, int quote) {
        Cut cut;
        {
          const nb::gil_scoped_release release;
          cut = whole_records(characters(text), dialect_of(delimiter, quote, '.'));
        }
        return std::make_tuple(cut.size, cut.lines);
      },
      nb::arg("text"), nb::arg("delimiter"), nb::arg("quote"),
      "Where the last whole record ends, and how many line breaks there are before: (size, lines).");
  m.def(
      "csv_records",
      [](const In<std::uint8_t, 1> &text, Index lines, int delimiter, int quote, int decimal,
         const In<std::int32_t, 1> &place, const In<std::uint8_t, 1> &kinds) {
        const Index columns = kinds.shape(0);
        require(lines >= 0, "lines must not be negative");
        require(place.shape(0) > 0, "place must have one entry a field");
        require(std::ranges::all_of(place.span(), [&](std::int32_t j) { return j >= -1 && j < columns; }),
                "place must hold columns, or -1");
        const Out<double, 2> out({lines, columns});
        std::vector<std::uint8_t> seen(kinds.span().begin(), kinds.span().end());
        std::vector<OtherCell> others;
        std::vector<BlankLine> blanks;
        std::vector<std::int64_t> places, spans;
        Index rows = 0;
        {
          const nb::gil_scoped_release release;
          rows = read_records({characters(text), dialect_of(delimiter, quote, decimal), place.span(), columns}, lines,
                              out.span(), seen, others, blanks);
          places.reserve(4 * others.size());
          for (const OtherCell &cell : others)
            places.insert(places.end(), {cell.row, cell.column, cell.begin, cell.end});
          for (const BlankLine &line : blanks)
            spans.insert(spans.end(), {line.begin, line.end});
        }
        std::vector<bool> whole;
        for (const std::uint8_t kind : seen)
          whole.push_back(kind == integer_column);
        const auto count = static_cast<Index>(others.size()), blank = static_cast<Index>(blanks.size());
        auto result =
            std::make_tuple(out.give(), rows, std::move(whole), give<std::int64_t, 2>(std::move(places), {count, 4}),
                            give<std::int64_t, 2>(std::move(spans), {blank, 2}));
        return rows == unsupported ? std::nullopt : std::optional(std::move(result));
      },
      nb::arg("text"), nb::arg("lines"), nb::arg("delimiter"), nb::arg("quote"), nb::arg("decimal"), nb::arg("place"),
      nb::arg("kinds"),
      "Records, at most as many as lines, in columns of numbers (0), whole numbers (1) or text (2); quote 0: quotation "
      "marks mean nothing. (matrix, rows of it that are filled, which columns of whole numbers held nothing else, row, "
      "column, begin and end in the text of each cell that is no plain number and NaN in the matrix, begin and end of "
      "each blank line), or None.");
}

} // namespace tenfold
