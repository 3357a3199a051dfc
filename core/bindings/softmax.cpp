#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/softmax.hpp"

namespace tenfold {
namespace {

template <class Rows>
nb::tuple evaluate(const Rows &x, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
                   const In<double, 1> &intercept, const Maybe<double, 1> &shift, int order, int threads) {
  const Index p = x.columns, K = intercept.shape(0);
  require(Y.shape(0) == x.rows && Y.shape(1) == 1, "Y must be (rows of X, 1)");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(K >= 1 && coef.shape(0) == K && coef.shape(1) == p, "coef must be (classes, columns of X)");
  require(!shift || shift->shape(0) == p, "shift must have one entry a column of X");
  require(order == 0 || order == 1, "order must be 0 or 1");
  const int workers = checked_threads(threads);
  const SoftmaxPoint<Rows> point{x, Y.span(), span_or_none(weight), coef.span(), intercept.span(), span_or_none(shift)};
  SoftmaxSums s;
  {
    const nb::gil_scoped_release release;
    s = softmax(point, order, workers);
  }
  nb::object gradient = nb::none();
  if (order >= 1)
    gradient = give<double, 2>(std::move(s.gradient), {K, p});
  return nb::make_tuple(s.weight, give<double, 1>(std::vector<double>{s.value}, {1}),
                        give<double, 1>(std::move(s.slope), {K}), gradient);
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "softmax",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
         const In<double, 1> &intercept, const Maybe<double, 1> &shift, int order, int threads) {
        return evaluate(Dense<T>{X.data(), X.shape(0), X.shape(1)}, Y, weight, coef, intercept, shift, order, threads);
      },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"),
      nb::arg("shift").none(), nb::arg("order"), nb::arg("threads"),
      "Sums of the softmax loss of class numbers Y and of its derivatives: (weight, value, slope, gradient).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "softmax_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &Y,
         const Maybe<double, 1> &weight, const In<double, 2> &coef, const In<double, 1> &intercept, int order,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return evaluate(rows.view, Y, weight, coef, intercept, std::nullopt, order, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("Y"), nb::arg("weight").none(),
      nb::arg("coef"), nb::arg("intercept"), nb::arg("order"), nb::arg("threads"),
      "softmax of compressed sparse rows.");
}

} // namespace

void bind_softmax(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
