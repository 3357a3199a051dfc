#include "bindings.hpp"

#include "tenfold/scatter_float32.hpp"

namespace tenfold {
namespace {

template <class T> void bind_centred(nb::module_ &m) {
  m.def(
      "centre_float32",
      [](const In<T, 2> &X, const In<double, 1> &shift, const Maybe<double, 1> &root, double unit, int threads) {
        require(shift.shape(0) == X.shape(1), "shift must have one entry a column of X");
        require(!root || root->shape(0) == X.shape(0), "root must have one entry a row of X");
        const int workers = checked_threads(threads);
        const Out<float, 2> out({X.shape(0), float32_stride(X.shape(1))});
        {
          const nb::gil_scoped_release release;
          centre_float32(Dense<T>{X.data(), X.shape(0), X.shape(1)}, shift.span(), span_or_none(root), unit, workers,
                         out.span());
        }
        return out.give();
      },
      nb::arg("X"), nb::arg("shift"), nb::arg("root").none(), nb::arg("unit"), nb::arg("threads"),
      "unit root_i (x_i - shift) in float32, (n, p rounded up to a multiple of 16), zeros behind.");
}

} // namespace

void bind_scatter_float32(nb::module_ &m) {
  bind_centred<float>(m);
  bind_centred<double>(m);
  m.def(
      "scatter_products_float32",
      [](const In<float, 2> &A, const In<float, 2> &vectors, int threads) {
        require(vectors.shape(1) == A.shape(1), "vectors must be (q, columns of A)");
        require(A.shape(1) % float32_padding == 0, "A must have a multiple of 16 columns");
        const int workers = checked_threads(threads);
        const Index q = vectors.shape(0);
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          result = scatter_products_float32(Dense<float>{A.data(), A.shape(0), A.shape(1)}, vectors.span(), q, workers);
        }
        return give<double, 2>(std::move(result), {q, A.shape(1)});
      },
      nb::arg("A"), nb::arg("vectors"), nb::arg("threads"), "vectors A'A with products in float32, (q, p).");
}

} // namespace tenfold
