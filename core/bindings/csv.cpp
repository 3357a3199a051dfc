#include "bindings.hpp"

#include "tenfold/csv.hpp"

namespace tenfold {

void bind_csv(nb::module_ &m) {
  m.def(
      "csv_numbers",
      [](const In<std::uint8_t, 1> &text, int delimiter, const In<std::int32_t, 1> &place,
         const In<std::uint8_t, 1> &whole) -> nb::object {
        const Index columns = whole.shape(0);
        require(place.shape(0) > 0, "place must have one entry a field");
        require(std::ranges::all_of(place.span(), [&](std::int32_t j) { return j >= -1 && j < columns; }),
                "place must hold columns, or -1");
        const std::span<const char> characters{reinterpret_cast<const char *>(text.data()), text.span().size()};
        std::vector<std::uint8_t> still(whole.span().begin(), whole.span().end());
        Index rows = 0;
        {
          const nb::gil_scoped_release release;
          rows = most_records(characters);
        }
        const Out<double, 2> out({rows, columns});
        {
          const nb::gil_scoped_release release;
          rows = read_records({characters, static_cast<char>(delimiter), place.span(), columns}, out.span(), still);
        }
        if (rows == not_claimed)
          return nb::none();
        nb::list flags;
        for (const std::uint8_t flag : still)
          flags.append(flag != 0);
        return nb::make_tuple(out.give(), rows, flags);
      },
      nb::arg("text"), nb::arg("delimiter"), nb::arg("place"), nb::arg("whole"),
      "Records of numbers: (matrix, rows of it that are filled, which columns held nothing but whole numbers), or "
      "None.");
}

} // namespace tenfold
