#include "bindings.hpp"
#include "loss_names.hpp"

#include "tenfold/dense_dual.hpp"
#include "tenfold/dense_interior_point.hpp"
#include "tenfold/dense_newton.hpp"

namespace tenfold {
namespace {

Dense<double> dense(const In<double, 2> &X) { return {X.data(), X.shape(0), X.shape(1)}; }

void check_rule(double allowed, Index limit) {
  require(allowed > 0.0, "allowed must be positive");
  require(limit >= 0, "limit must not be negative");
}

void bind_newton(nb::module_ &m) {
  m.def(
      "dense_newton",
      [](const In<double, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const In<double, 1> &shift,
         const std::string &loss, double parameter, bool intercept, const In<double, 1> &ridge,
         const Maybe<double, 1> &limits, const In<double, 1> &start, double tol, double allowed, double least,
         Index limit) {
        const Index n = X.shape(0), p = X.shape(1), q = p + 1;
        require(y.shape(0) == n, "y must have one entry a row");
        require(!weight || weight->shape(0) == n, "weight must have one entry a row");
        require(shift.shape(0) == p, "shift must have one entry a column of X");
        require(ridge.shape(0) == q && start.shape(0) == q, "ridge and start must have one entry a coefficient");
        require(!limits || limits->shape(0) == q, "limits must have one entry a coefficient");
        check_rule(allowed, limit);
        require(tol > 0.0 && least > 0.0, "tol and least must be positive");
        const DenseGlm glm{dense(X),  y.span(),  span_or_none(weight), shift.span(),        loss_named(loss),
                           parameter, intercept, ridge.span(),         span_or_none(limits)};
        DenseSolution out;
        {
          const nb::gil_scoped_release release;
          out = DenseNewton(glm, {tol, allowed, least, limit}).run(start.span());
        }
        const Index count = static_cast<Index>(out.values.size());
        return std::make_tuple(give<double, 2>(std::move(out.points), {count, q}),
                               give<double, 1>(std::move(out.values), {count}),
                               give<double, 1>(std::move(out.measures), {count}), out.end != DenseEnd::failed);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("shift"), nb::arg("loss"), nb::arg("parameter"),
      nb::arg("intercept"), nb::arg("ridge"), nb::arg("limits").none(), nb::arg("start"), nb::arg("tol"),
      nb::arg("allowed"), nb::arg("least"), nb::arg("limit"),
      "Newton's method for one target on few dense samples: (coefficients, objectives and measures of the start and of "
      "each step, whether all Hessians were regular and all numbers finite).");
  m.def(
      "dense_centre",
      [](const In<double, 2> &X) {
        require(X.shape(0) >= 1, "there must be rows");
        const Index p = X.shape(1);
        DenseDual out;
        place({dense(X), {}, Loss::square, 0.0, false, 1.0}, out);
        return std::make_tuple(give<double, 1>(std::move(out.centre), {p}),
                               give<double, 1>(std::move(out.squares), {p}));
      },
      nb::arg("X"), "Column means, exact for constant columns, and the mean squares about them.");
}

void bind_dual(nb::module_ &m) {
  m.def(
      "dense_dual",
      [](const In<double, 2> &X, const In<double, 2> &y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
         const In<double, 1> &intercept, const std::string &loss, double parameter, bool free, double longest) {
        const Index n = X.shape(0), p = X.shape(1), t = intercept.shape(0);
        require(n >= 1, "there must be rows");
        require(y.shape(0) == n && y.shape(1) == t, "y must be (rows of X, targets)");
        require(!weight || weight->shape(0) == n, "weight must have one entry a row");
        require(coef.shape(0) == t && coef.shape(1) == p, "coef must be (targets, columns of X)");
        require(longest > 0.0, "longest must be positive");
        const DenseSamples in{dense(X), span_or_none(weight), loss_named(loss), parameter, free, longest};
        DenseDual out;
        {
          const nb::gil_scoped_release release;
          out = dense_dual(in, y.span(), coef.span(), intercept.span());
        }
        std::vector<double> sums;
        for (std::size_t k = 0; k < out.here.size(); ++k) {
          for (const LossSums &each : {out.here[k], out.there[k]})
            sums.insert(sums.end(), {each.value, each.slope, each.size, each.curvature});
          sums.insert(sums.end(), {out.steps[k], out.intercept[k]});
        }
        return std::make_tuple(out.weight, give<double, 1>(std::move(out.centre), {p}),
                               give<double, 1>(std::move(out.squares), {p}), give<double, 2>(std::move(sums), {t, 10}),
                               give<double, 2>(std::move(out.correlation), {t, p}),
                               give<double, 2>(std::move(out.curved), {t, p}));
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"), nb::arg("loss"),
      nb::arg("parameter"), nb::arg("free"), nb::arg("longest"),
      "What a duality gap needs of each target, about the centre of the samples: (weight, centre, mean squares about "
      "it, sums of loss, slope, its size and the curvature at the intercept and at the best one, the step between and "
      "the intercept, slopes times samples, curvatures times samples).");
}

void bind_interior_point(nb::module_ &m) {
  m.def(
      "dense_interior_point",
      [](const In<double, 2> &X, const In<double, 1> &shift, const In<double, 2> &at, const In<double, 2> &up,
         const In<double, 2> &down, bool intercept, const In<double, 1> &ridge, const In<double, 1> &start,
         double allowed, Index limit) {
        const Index n = X.shape(0), p = X.shape(1), q = p + 1, pieces = at.shape(1);
        for (const auto *part : {&at, &up, &down})
          require(part->shape(0) == n && part->shape(1) == pieces, "at, up and down must be (rows of X, pieces)");
        require(pieces >= 1, "there must be pieces");
        require(shift.shape(0) == p, "shift must have one entry a column of X");
        require(ridge.shape(0) == q && start.shape(0) == q, "ridge and start must have one entry a coefficient");
        check_rule(allowed, limit);
        const DensePieces in{dense(X),    shift.span(), at.span(), up.span(),
                             down.span(), pieces,       intercept, ridge.span()};
        InteriorPoint out;
        {
          const nb::gil_scoped_release release;
          out = DenseInteriorPoint(in, allowed, limit).run(start.span());
        }
        const Index count = static_cast<Index>(out.values.size());
        return std::make_tuple(give<double, 2>(std::move(out.points), {count, q}),
                               give<double, 1>(std::move(out.slopes), {n}),
                               give<double, 1>(std::move(out.values), {count}),
                               give<double, 1>(std::move(out.measures), {count}), out.finite);
      },
      nb::arg("X"), nb::arg("shift"), nb::arg("at"), nb::arg("up"), nb::arg("down"), nb::arg("intercept"),
      nb::arg("ridge"), nb::arg("start"), nb::arg("allowed"), nb::arg("limit"),
      "Interior points for piecewise linear losses with squared penalties on few dense samples: (coefficients of the "
      "start and of each step, slopes at the last, objectives, measures, whether all numbers are finite).");
}

} // namespace

void bind_dense_glm(nb::module_ &m) {
  bind_newton(m);
  bind_dual(m);
  bind_interior_point(m);
}

} // namespace tenfold
