#include "bindings.hpp"

#include "tenfold/within_quadratic_forms.hpp"
#include "tenfold/within_scatter.hpp"

namespace tenfold {
namespace {

template <class T>
Dense<T> checked(const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
                 const In<double, 2> &places) {
  require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
  require(group.shape(0) == X.shape(0), "group must have one entry a row");
  require(places.shape(0) >= 1 && places.shape(1) == X.shape(1), "places must be (classes, p)");
  return {X.data(), X.shape(0), X.shape(1)};
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "within_moments",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
         const In<double, 2> &places, int threads) {
        const Dense<T> x = checked(X, weight, group, places);
        const Index k = places.shape(0);
        const int workers = checked_threads(threads);
        WithinMoments found;
        {
          const nb::gil_scoped_release release;
          found = within_moments(x, span_or_none(weight), group.span(), k, places.span(), workers);
        }
        return std::make_tuple(found.count, give<double, 1>(std::move(found.weight), {k}),
                               give<double, 2>(std::move(found.sums), {k, x.columns}),
                               give<double, 2>(std::move(found.scatter), {x.columns, x.columns}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("places"), nb::arg("threads"),
      "Rows that count, weights of the classes, sums of x - place, and second moments about the means of all classes "
      "together: (count, weight, sums, scatter).");
  m.def(
      "within_forms",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
         const In<double, 2> &places, const In<double, 2> &vectors, int threads) {
        const Dense<T> x = checked(X, weight, group, places);
        require(vectors.shape(1) == x.columns, "vectors must be (q, p)");
        const Index k = places.shape(0), q = vectors.shape(0);
        const int workers = checked_threads(threads);
        WithinForms found;
        {
          const nb::gil_scoped_release release;
          found = within_forms(x, span_or_none(weight), group.span(), k, places.span(), vectors.span(), q, workers);
        }
        return std::make_tuple(
            give<double, 1>(std::move(found.weight), {k}), give<double, 2>(std::move(found.sums), {k, x.columns}),
            give<double, 2>(std::move(found.squares), {k, x.columns}), give<double, 2>(std::move(found.forms), {q, q}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("places"), nb::arg("vectors"),
      nb::arg("threads"),
      "With d = x - place: weights of the classes, sums of d and of d^2, and sums over all rows of (v'd)(d'u) for "
      "vectors v, u: (weight, sums, squares, forms).");
}

} // namespace

void bind_within(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
}

} // namespace tenfold
