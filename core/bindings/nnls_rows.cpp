#include "bindings.hpp"

#include "tenfold/nnls_rows.hpp"

namespace tenfold {
namespace {

Index checked_size(const In<double, 2> &A, const In<double, 2> &C, const In<double, 2> &W) {
  const Index k = A.shape(0);
  require(k >= 1 && A.shape(1) == k, "A must be square");
  require(C.shape(1) == k && W.shape(1) == k && C.shape(0) == W.shape(0), "C and W must be (n, k)");
  return k;
}

} // namespace

void bind_nnls_rows(nb::module_ &m) {
  m.def(
      "sweep_nnls",
      [](const In<double, 2> &A, const In<double, 2> &C, const In<double, 2> &W, Index sweeps, double fraction,
         int threads) {
        const Index k = checked_size(A, C, W);
        const int workers = checked_threads(threads);
        const Out<double, 2> out({W.shape(0), k});
        std::copy(W.span().begin(), W.span().end(), out.span().begin());
        {
          const nb::gil_scoped_release release;
          sweep_nnls(A.span(), C.span(), out.span(), k, sweeps, fraction, workers);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("C"), nb::arg("W"), nb::arg("sweeps"), nb::arg("fraction"), nb::arg("threads"),
      "Rows w after sweeps of coordinate descent for (1/2) w'Aw - c'w over w >= 0.");
  m.def(
      "solve_nnls",
      [](const In<double, 2> &A, const In<double, 2> &C, const In<double, 2> &W, Index sweeps, int threads) {
        const Index k = checked_size(A, C, W);
        const int workers = checked_threads(threads);
        const Out<double, 2> out({W.shape(0), k});
        std::copy(W.span().begin(), W.span().end(), out.span().begin());
        {
          const nb::gil_scoped_release release;
          solve_nnls(A.span(), C.span(), out.span(), k, sweeps, workers);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("C"), nb::arg("W"), nb::arg("sweeps"), nb::arg("threads"),
      "The minimisers of (1/2) w'Aw - c'w over w >= 0, from the rows of W.");
}

} // namespace tenfold
