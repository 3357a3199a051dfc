#include "bindings.hpp"

#include "tenfold/argmax_float32.hpp"

namespace tenfold {
namespace {

template <class T, class Scores> auto compute_argmax(const In<T, 2> &X, const Scores &scores, int threads) {
  const int workers = checked_threads(threads);
  const Out<std::int64_t, 1> number({X.shape(0)});
  {
    const nb::gil_scoped_release release;
    argmax_float32(Dense<T>{X.data(), X.shape(0), X.shape(1)}, scores, workers, number.span());
  }
  return number.give();
}

template <class T> void bind_for(nb::module_ &m) {
  m.def(
      "argmax_diagonal_float32",
      [](const In<T, 2> &X, const In<double, 1> &place, const In<double, 1> &unit, const In<double, 2> &linear,
         const Maybe<double, 2> &squared, const In<double, 1> &constant, const In<double, 1> &slack, int threads) {
        const Index p = X.shape(1), k = constant.shape(0);
        require(place.shape(0) == p && unit.shape(0) == p, "place and unit must have one entry a column of X");
        require(k >= 1 && linear.shape(0) == k && linear.shape(1) == p, "linear must be (classes, p)");
        require(!squared || (squared->shape(0) == k && squared->shape(1) == p), "squared must be (classes, p)");
        require(slack.shape(0) == 3, "slack must have three entries");
        const DiagonalScores scores{place.span(),          unit.span(),     linear.span(),
                                    span_or_none(squared), constant.span(), slack.span()};
        return compute_argmax<T>(X, scores, threads);
      },
      nb::arg("X"), nb::arg("place"), nb::arg("unit"), nb::arg("linear"), nb::arg("squared").none(),
      nb::arg("constant"), nb::arg("slack"), nb::arg("threads"),
      "With d = unit (x - place): the argmax of constant_k + linear_k d + squared_k d^2 for every row, "
      "or -1 where single precision is not conclusive, (n,).");
  m.def(
      "argmax_full_float32",
      [](const In<T, 2> &X, const In<double, 1> &place, const In<double, 1> &unit, const In<double, 3> &factors,
         const In<double, 2> &offsets, const In<double, 1> &constant, const In<double, 1> &slack, int threads) {
        const Index p = X.shape(1), k = constant.shape(0);
        require(p <= max_full_columns, "there are too many columns");
        require(place.shape(0) == p && unit.shape(0) == p, "place and unit must have one entry a column of X");
        require(k >= 1 && factors.shape(0) == k && factors.shape(1) == p && factors.shape(2) == p,
                "factors must be (classes, p, p)");
        require(offsets.shape(0) == k && offsets.shape(1) == p, "offsets must be (classes, p)");
        require(slack.shape(0) == 3, "slack must have three entries");
        const FullScores scores{place.span(),   unit.span(),     factors.span(),
                                offsets.span(), constant.span(), slack.span()};
        return compute_argmax<T>(X, scores, threads);
      },
      nb::arg("X"), nb::arg("place"), nb::arg("unit"), nb::arg("factors"), nb::arg("offsets"), nb::arg("constant"),
      nb::arg("slack"), nb::arg("threads"),
      "The same of constant_k - 1/2 ||d G_k - offset_k||^2 with upper triangles G_k, (n,).");
}

} // namespace

void bind_argmax_float32(nb::module_ &m) {
  bind_for<float>(m);
  bind_for<double>(m);
}

} // namespace tenfold
