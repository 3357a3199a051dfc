#include "bindings.hpp"

#include "tenfold/csv.hpp"

namespace tenfold {

namespace {

std::span<const char> characters(const In<std::uint8_t, 1> &text) {
  return {reinterpret_cast<const char *>(text.data()), text.span().size()};
}

} // namespace

void bind_csv(nb::module_ &m) {
  m.def(
      "csv_cut",
      [](const In<std::uint8_t, 1> &text) {
        Cut cut;
        {
          const nb::gil_scoped_release release;
          cut = whole_records(characters(text));
        }
        return nb::make_tuple(cut.size, cut.lines);
      },
      nb::arg("text"), "Where the last whole record ends, and how many line breaks there are before: (size, lines).");
  m.def(
      "csv_numbers",
      [](const In<std::uint8_t, 1> &text, Index lines, int delimiter, const In<std::int32_t, 1> &place,
         const In<std::uint8_t, 1> &whole) -> nb::object {
        const Index columns = whole.shape(0);
        require(lines >= 0, "lines must not be negative");
        require(place.shape(0) > 0, "place must have one entry a field");
        require(std::ranges::all_of(place.span(), [&](std::int32_t j) { return j >= -1 && j < columns; }),
                "place must hold columns, or -1");
        const Out<double, 2> out({lines, columns});
        std::vector<std::uint8_t> still(whole.span().begin(), whole.span().end());
        Index rows = 0;
        {
          const nb::gil_scoped_release release;
          rows = read_records({characters(text), static_cast<char>(delimiter), place.span(), columns}, lines,
                              out.span(), still);
        }
        if (rows == not_claimed)
          return nb::none();
        nb::list flags;
        for (const std::uint8_t flag : still)
          flags.append(flag != 0);
        return nb::make_tuple(out.give(), rows, flags);
      },
      nb::arg("text"), nb::arg("lines"), nb::arg("delimiter"), nb::arg("place"), nb::arg("whole"),
      "Records of numbers, at most as many as lines: (matrix, rows of it that are filled, which columns held nothing "
      "but "
      "whole numbers), or None.");
}

} // namespace tenfold
