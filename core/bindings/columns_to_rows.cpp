#include "bindings.hpp"

#include "tenfold/columns_to_rows.hpp"

#include <nanobind/stl/vector.h>

namespace tenfold {
namespace {

template <class T> void bind(nb::module_ &m) {
  m.def(
      "columns_to_rows",
      [](const std::vector<In<T, 1>> &columns, const nb::ndarray<T, nb::ndim<2>, nb::device::cpu> &out, int threads) {
        const auto rows = static_cast<Index>(out.shape(0));
        require(columns.size() == out.shape(1), "out must have a column for each of columns");
        require(rows == 0 || columns.size() <= 1 || out.stride(1) == 1, "the rows of out must be contiguous");
        const int workers = checked_threads(threads);
        std::vector<Bytes> data;
        for (const In<T, 1> &column : columns) {
          require(column.shape(0) == rows, "columns must have an entry for each row of out");
          data.push_back(reinterpret_cast<Bytes>(column.data()));
        }
        const nb::gil_scoped_release release;
        columns_to_rows<T>(data, rows, out.data(), out.stride(0), workers);
      },
      nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"),
      "Fills out (rows, columns), some columns of a matrix in C order, from one array for each column.");
}

} // namespace

void bind_columns_to_rows(nb::module_ &m) {
  bind<double>(m);
  bind<float>(m);
}

} // namespace tenfold
