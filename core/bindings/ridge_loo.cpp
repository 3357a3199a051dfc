#include "bindings.hpp"

#include "tenfold/ridge_loo.hpp"

namespace tenfold {
namespace {

template <class T> void bind(nb::module_ &m) {
  m.def(
      "ridge_loo",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 1> &centre,
         const In<double, 1> &target_mean, const In<double, 2> &V, const In<double, 2> &D, const In<double, 3> &C,
         double base, int threads, bool keep) {
        const Index n = X.shape(0), p = X.shape(1), t = Y.shape(1), r = V.shape(1), A = D.shape(0);
        require(Y.shape(0) == n, "Y must have as many rows as X");
        require(!weight || weight->shape(0) == n, "weight must have one entry a row");
        require(centre.shape(0) == p, "centre must have one entry a column of X");
        require(target_mean.shape(0) == t, "target_mean must have one entry a column of Y");
        require(V.shape(0) == p, "V must be (columns of X, rank)");
        require(D.shape(1) == r, "D must be (candidates, rank)");
        require(C.shape(0) == t && C.shape(1) == A && C.shape(2) == r, "C must be (targets, candidates, rank)");
        const int workers = checked_threads(threads);
        const bool small = PackedRhs::fits(p, r) && PackedRhs::fits(r, A);
        const Blas blas = small ? Blas{} : scipy_blas();
        const Dense<T> x{X.data(), n, p};
        const Rotation<T> rotation{
            x, Y.span(), span_or_none(weight), centre.span(), target_mean.span(), V.span(), D.span(), C.span(), r,
            A, base};
        std::optional<Out<double, 3>> errors;
        if (keep)
          errors.emplace(std::array<Index, 3>{n, t, A});
        LeaveOneOut result;
        {
          const nb::gil_scoped_release release;
          result = leave_one_out(rotation, blas, workers, errors ? errors->span() : std::span<double>{});
        }
        return std::make_tuple(give<double, 2>(std::move(result.sums), {t, A}),
                               give<double, 1>(std::move(result.largest_leverage), {A}),
                               errors ? std::optional(errors->give()) : std::nullopt, result.finite);
      },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("centre"), nb::arg("target_mean"), nb::arg("V"),
      nb::arg("D"), nb::arg("C"), nb::arg("base"), nb::arg("threads"), nb::arg("keep"),
      "Leave-one-out errors of every candidate: (sums, largest_leverage, errors or None, finite).");
}

} // namespace

void bind_ridge_loo(nb::module_ &m) {
  bind<float>(m);
  bind<double>(m);
}

} // namespace tenfold
