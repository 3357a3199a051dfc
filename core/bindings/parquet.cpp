#include "bindings.hpp"

#include "tenfold/parquet.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

namespace tenfold {
namespace {

Stored stored_as(const std::string &type) {
  if (type == "DOUBLE")
    return Stored::float64;
  if (type == "FLOAT")
    return Stored::float32;
  if (type == "INT64")
    return Stored::int64;
  require(type == "INT32", "a chunk must hold DOUBLE, FLOAT, INT64 or INT32");
  return Stored::int32;
}

template <class T> void bind(nb::module_ &m, const char *name, const char *text) {
  using Columns = ParquetColumns<T>;
  nb::class_<Columns>(m, name, text)
      .def(
          "__init__",
          [](Columns *self, int descriptor,
             const std::vector<std::tuple<Index, Index, Index, std::string, bool, bool>> &chunks) {
            std::vector<Chunk> found;
            for (const auto &[offset, size, values, type, packed, optional] : chunks) {
              require(offset >= 0 && size >= 0 && values >= 0, "a chunk must begin in the file and have a length");
              const Stored stored = stored_as(type);
              require((std::is_same_v<T, double>) || stored == Stored::float32, "float32 is made of FLOAT only");
              found.push_back({offset, size, values, stored, packed, optional});
            }
            new (self) Columns(descriptor, found);
          },
          nb::arg("descriptor"), nb::arg("chunks"))
      .def(
          "read",
          [](Columns &self, const nb::ndarray<T, nb::ndim<2>, nb::device::cpu> &out, int threads) {
            const auto rows = static_cast<Index>(out.shape(0));
            require(static_cast<Index>(out.shape(1)) == self.columns(), "out must have a column for each chunk");
            require(rows == 0 || self.columns() <= 1 || out.stride(1) == 1, "the rows of out must be contiguous");
            const int workers = checked_threads(threads);
            const nb::gil_scoped_release release;
            return self.read(out.data(), rows, out.stride(0), workers);
          },
          nb::arg("out").noconvert(), nb::arg("threads"),
          "The next rows of the chunks; False where they are not claimed, and no more can be read.");
}

} // namespace

void bind_parquet(nb::module_ &m) {
  bind<double>(m, "ParquetDoubles", "Column chunks of a row group as rows of float64.");
  bind<float>(m, "ParquetFloats", "Column chunks of a row group as rows of float32.");
}

} // namespace tenfold
