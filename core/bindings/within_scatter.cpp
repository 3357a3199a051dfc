#include "bindings.hpp"

#include "tenfold/within_quadratic_forms.hpp"
#include "tenfold/within_scatter.hpp"

namespace tenfold {
namespace {

template <class T>
Dense<T> checked(const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
                 const In<double, 2> &centres) {
  require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
  require(group.shape(0) == X.shape(0), "group must have one entry a row");
  require(centres.shape(0) >= 1 && centres.shape(1) == X.shape(1), "centres must be (classes, p)");
  return {X.data(), X.shape(0), X.shape(1)};
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "within_scatter",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
         const In<double, 2> &centres, int threads) {
        const Dense<T> x = checked(X, weight, group, centres);
        const Index k = centres.shape(0);
        const int workers = checked_threads(threads);
        WithinScatter result;
        {
          const nb::gil_scoped_release release;
          result = within_scatter(x, span_or_none(weight), group.span(), k, centres.span(), workers);
        }
        return std::make_tuple(result.count, give<double, 1>(std::move(result.weight), {k}),
                               give<double, 2>(std::move(result.sums), {k, x.columns}),
                               give<double, 2>(std::move(result.scatter), {x.columns, x.columns}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("centres"), nb::arg("threads"),
      "Number of samples of positive weight, weights of the classes, sums of x - centre, and second moments about the "
      "means of all classes "
      "together: (count, weight, sums, scatter).");
  m.def(
      "within_quadratic_forms",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
         const In<double, 2> &centres, const In<double, 2> &vectors, int threads) {
        const Dense<T> x = checked(X, weight, group, centres);
        require(vectors.shape(1) == x.columns, "vectors must be (q, p)");
        const Index k = centres.shape(0), q = vectors.shape(0);
        const int workers = checked_threads(threads);
        WithinQuadraticForms result;
        {
          const nb::gil_scoped_release release;
          result = within_quadratic_forms(x, span_or_none(weight), group.span(), k, centres.span(), vectors.span(), q,
                                          workers);
        }
        return std::make_tuple(give<double, 1>(std::move(result.weight), {k}),
                               give<double, 2>(std::move(result.sums), {k, x.columns}),
                               give<double, 2>(std::move(result.squares), {k, x.columns}),
                               give<double, 2>(std::move(result.forms), {q, q}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("centres"), nb::arg("vectors"),
      nb::arg("threads"),
      "With d = x - centre: weights of the classes, sums of d and of d^2, and sums over all rows of (v'd)(d'u) for "
      "vectors v, u: (weight, sums, squares, forms).");
}

} // namespace

void bind_within_scatter(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
}

} // namespace tenfold
