#include "bindings.hpp"
#include "loss_names.hpp"
#include "sparse.hpp"

#include "tenfold/loss_at_margins.hpp"
#include "tenfold/newton_path.hpp"

#include <algorithm>
#include <array>

namespace tenfold {
namespace {

template <class Rows>
auto evaluate(const Rows &x, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
              const In<double, 1> &intercept, const Maybe<double, 1> &shift, const std::string &loss, double parameter,
              int order, int threads) {
  const Index p = x.columns, t = intercept.shape(0);
  require(Y.shape(0) == x.rows && Y.shape(1) == t, "Y must be (rows of X, targets)");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(coef.shape(0) == t && coef.shape(1) == p, "coef must be (targets, columns of X)");
  require(!shift || shift->shape(0) == p, "shift must have one entry a column of X");
  require(order >= 0 && order <= 2, "order must be 0, 1 or 2");
  require(order < 2 || t == 1, "order 2 is for one target");
  const int workers = checked_threads(threads);
  const Point<Rows> point{
      x,        Y.span(), span_or_none(weight), coef.span(), intercept.span(), span_or_none(shift), loss_named(loss),
      parameter};
  Derivatives d;
  {
    const nb::gil_scoped_release release;
    d = derivatives(point, order, workers);
  }
  std::optional<Given<double>> gradient, hessian;
  if (order >= 1)
    gradient = give<double, 2>(std::move(d.gradient), {t, p});
  if (order == 2)
    hessian = give<double, 2>(std::move(d.hessian), {p + 1, p + 1});
  return std::make_tuple(d.weight, give<double, 1>(std::move(d.value), {t}), give<double, 1>(std::move(d.slope), {t}),
                         gradient, hessian);
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "derivatives",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
         const In<double, 1> &intercept, const Maybe<double, 1> &shift, const std::string &loss, double parameter,
         int order, int threads) {
        return evaluate(Dense<T>{X.data(), X.shape(0), X.shape(1)}, Y, weight, coef, intercept, shift, loss, parameter,
                        order, threads);
      },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"),
      nb::arg("shift").none(), nb::arg("loss"), nb::arg("parameter"), nb::arg("order"), nb::arg("threads"),
      "Sums of a loss and of its derivatives at coef and intercept: (weight, value, slope, gradient, hessian).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "derivatives_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &Y,
         const Maybe<double, 1> &weight, const In<double, 2> &coef, const In<double, 1> &intercept,
         const std::string &loss, double parameter, int order, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return evaluate(rows.view, Y, weight, coef, intercept, std::nullopt, loss, parameter, order, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("Y"), nb::arg("weight").none(),
      nb::arg("coef"), nb::arg("intercept"), nb::arg("loss"), nb::arg("parameter"), nb::arg("order"),
      nb::arg("threads"), "derivatives for CSR.");
}

LossMargins checked_margins(const In<double, 1> &y, const In<double, 1> &z, const In<double, 1> &weight,
                            const std::string &loss, double parameter) {
  require(z.shape(0) == y.shape(0), "z must have one entry a target");
  require(weight.shape(0) == y.shape(0), "weight must have one entry a target");
  return {y.span(), z.span(), weight.span(), loss_named(loss), parameter};
}

void bind_margins(nb::module_ &m) {
  m.def(
      "loss_at_margins",
      [](const In<double, 1> &y, const In<double, 1> &z, const In<double, 1> &weight, const std::string &loss,
         double parameter, int threads) {
        const LossMargins margins = checked_margins(y, z, weight, loss, parameter);
        const int workers = checked_threads(threads);
        const Out<double, 1> u({y.shape(0)}), curvature({y.shape(0)});
        std::array<double, 3> sums;
        {
          const nb::gil_scoped_release release;
          sums = loss_at_margins(margins, workers, u.span(), curvature.span());
        }
        return std::make_tuple(sums[0], sums[1], sums[2], u.give(), curvature.give());
      },
      nb::arg("y"), nb::arg("z"), nb::arg("weight"), nb::arg("loss"), nb::arg("parameter"), nb::arg("threads"),
      "Sums of a loss of targets y at margins z and of its first two derivatives, and the derivatives of each sample: "
      "(value, "
      "slope, curvature, u, curvatures).");
  m.def(
      "loss_along_line",
      [](const In<double, 1> &y, const In<double, 1> &z, const In<double, 1> &dz, double length,
         const In<double, 1> &weight, const std::string &loss, double parameter, int threads) {
        const LossMargins margins = checked_margins(y, z, weight, loss, parameter);
        require(dz.shape(0) == y.shape(0), "dz must have one entry a target");
        const int workers = checked_threads(threads);
        std::array<double, 4> sums;
        {
          const nb::gil_scoped_release release;
          sums = loss_along_line(margins, dz.span(), length, workers);
        }
        return std::make_tuple(sums[0], sums[1], sums[2], sums[3]);
      },
      nb::arg("y"), nb::arg("z"), nb::arg("dz"), nb::arg("length"), nb::arg("weight"), nb::arg("loss"),
      nb::arg("parameter"), nb::arg("threads"),
      "The first two derivatives in t of the sum of a loss at z + t dz, at t = length, and the sums of its slopes and "
      "curvatures there.");
}

template <class T> void bind_newton_path(nb::module_ &m) {
  m.def(
      "newton_path",
      [](const In<T, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const In<double, 1> &shift,
         const In<std::int64_t, 1> &rows, const In<std::int64_t, 1> &starts, const In<double, 2> &strengths,
         const std::string &loss, double parameter, bool intercept, double tol, double part, double most, Index limit,
         int threads) {
        const Index n = X.shape(0), p = X.shape(1), F = strengths.shape(0), A = strengths.shape(1);
        require(y.shape(0) == n, "y must have one entry a row");
        require(!weight || weight->shape(0) == n, "weight must have one entry a row");
        require(shift.shape(0) == p, "shift must have one entry a column of X");
        require(F >= 1 && A >= 1 && starts.shape(0) == F + 1, "starts must have one entry a fold and one more");
        const auto cuts = starts.span();
        require(cuts.front() == 0 && cuts.back() == rows.shape(0) && std::is_sorted(cuts.begin(), cuts.end()),
                "starts must cut the rows into folds");
        for (const std::int64_t row : rows.span())
          require(row >= 0 && row < n, "no such row");
        for (const double strength : strengths.span())
          require(strength > 0.0, "strengths must be positive");
        const int workers = checked_threads(threads);
        const Dense<T> x{X.data(), n, p};
        const Folds<T> folds{
            x, y.span(), span_or_none(weight), shift.span(), rows.span(), cuts, loss_named(loss), parameter, intercept};
        NewtonPaths paths;
        {
          const nb::gil_scoped_release release;
          paths = newton_path(folds, strengths.span(), {tol, part, most, limit}, workers);
        }
        return std::make_tuple(give<double, 3>(std::move(paths.params), {F, A, p + 1}),
                               give<std::int32_t, 2>(std::move(paths.steps), {F, A}),
                               give<std::int64_t, 2>(std::move(paths.passes), {F, 2}), paths.regular);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("shift"), nb::arg("rows"), nb::arg("starts"),
      nb::arg("strengths"), nb::arg("loss"), nb::arg("parameter"), nb::arg("intercept"), nb::arg("tol"),
      nb::arg("part"), nb::arg("most"), nb::arg("limit"), nb::arg("threads"),
      "Newton's method along decreasing penalties, fold by fold: (params, steps, passes over the rows of each fold "
      "with a gradient "
      "and with a Hessian, whether all Hessians were regular).");
}

} // namespace

void bind_loss_derivatives(nb::module_ &m) {
  bind_margins(m);
  bind_newton_path<float>(m);
  bind_newton_path<double>(m);
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
