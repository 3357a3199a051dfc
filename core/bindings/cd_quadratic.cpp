#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/cd_quadratic.hpp"

namespace tenfold {
namespace {

template <class I> void bind(nb::module_ &m) {
  m.def(
      "cd_quadratic",
      [](const In<double, 1> &data, const In<I, 1> &indices, const Pointers &indptr, const In<double, 1> &curvature,
         const In<double, 1> &gradient, double slope, const In<double, 1> &weights,
         const In<std::int64_t, 1> &working_set, double l1, double l2, bool intercept, double tol, Index max_sweeps) {
        const Index n = curvature.shape(0), p = weights.shape(0);
        const Compressed<double, I> columns(data, indices, indptr, n);
        require(columns.view.rows == p, "indptr must have one entry more than there are weights");
        require(gradient.shape(0) == p, "gradient must have one entry a weight");
        bool good = true;
        for (const I i : columns.view.indices)
          good &= i >= 0 && static_cast<Index>(i) < n;
        for (const std::int64_t j : working_set.span())
          good &= j >= 0 && j < p;
        require(good, "a row or column number is out of range");
        const CscQuadraticModel<I> model{columns.view.data,
                                         columns.view.indices,
                                         columns.view.indptr,
                                         curvature.span(),
                                         gradient.span(),
                                         weights.span(),
                                         working_set.span(),
                                         slope,
                                         l1,
                                         l2,
                                         intercept};
        Out<double, 1> d({p}), move({n});
        std::fill(d.span().begin(), d.span().end(), 0.0);
        std::fill(move.span().begin(), move.span().end(), 0.0);
        CdQuadraticResult step;
        {
          const nb::gil_scoped_release release;
          step = cd_quadratic(model, tol, max_sweeps, d.span(), move.span());
        }
        return std::make_tuple(d.give(), step.intercept, move.give(), step.sweeps);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("curvature"), nb::arg("gradient"),
      nb::arg("slope"), nb::arg("weights"), nb::arg("working_set"), nb::arg("l1"), nb::arg("l2"), nb::arg("intercept"),
      nb::arg("tol"), nb::arg("max_sweeps"),
      "Coordinate descent on a quadratic model along compressed columns: (d, b, x.d + b, sweeps).");
}

} // namespace

void bind_cd_quadratic(nb::module_ &m) {
  bind<std::int32_t>(m);
  bind<std::int64_t>(m);
}

} // namespace tenfold
