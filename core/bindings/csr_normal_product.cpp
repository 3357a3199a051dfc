#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/csr_normal_product.hpp"

namespace tenfold {
namespace {

template <class T, class I> void bind_storage(nb::module_ &m) {
  m.def(
      "normal_product_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &vectors,
         const Maybe<double, 1> &weight, const Maybe<double, 1> &level, const In<double, 1> &by, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        const Index count = vectors.shape(0);
        require(vectors.shape(1) == p && by.shape(0) == count, "vectors must be (count, p), with as many numbers by");
        require(!weight || weight->shape(0) == rows.view.rows, "weight must have one entry a row");
        require(!level || level->shape(0) == rows.view.rows, "level must have one entry a row");
        const int workers = checked_threads(threads);
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          result = normal_product(rows.view, vectors.span(), count, span_or_none(weight), span_or_none(level),
                                  by.span(), workers);
        }
        return give<double, 1>(std::move(result), {(p + 1) * count});
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("vectors"),
      nb::arg("weight").none(), nb::arg("level").none(), nb::arg("by"), nb::arg("threads"),
      "With z = X vectors' - level by': z'WX, (count, p), and behind it z'W level, (count,), all in one line.");
  m.def(
      "left_matmul_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &vectors,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        require(vectors.shape(1) == rows.view.rows, "vectors must have one entry a row");
        const int workers = checked_threads(threads);
        const Index count = vectors.shape(0);
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          result = left_matmul(rows.view, vectors.span(), count, workers);
        }
        return give<double, 2>(std::move(result), {count, p});
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("vectors"), nb::arg("threads"),
      "vectors X for vectors (count, rows), (count, p).");
  m.def(
      "left_matmul_t_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &vectors,
         const Maybe<double, 1> &level, const In<double, 1> &by, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        const Index count = vectors.shape(0);
        require(vectors.shape(1) == p && by.shape(0) == count, "vectors must be (count, p), with as many numbers by");
        require(!level || level->shape(0) == rows.view.rows, "level must have one entry a row");
        const int workers = checked_threads(threads);
        const Out<double, 2> out({count, rows.view.rows});
        {
          const nb::gil_scoped_release release;
          left_matmul_t(rows.view, vectors.span(), count, span_or_none(level), by.span(), workers, out.span());
        }
        return out.give();
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("vectors"), nb::arg("level").none(),
      nb::arg("by"), nb::arg("threads"), "vectors X' - by level', (count, rows).");
}

} // namespace

void bind_csr_normal_product(nb::module_ &m) {
  bind_storage<float, std::int32_t>(m);
  bind_storage<float, std::int64_t>(m);
  bind_storage<double, std::int32_t>(m);
  bind_storage<double, std::int64_t>(m);
}

} // namespace tenfold
