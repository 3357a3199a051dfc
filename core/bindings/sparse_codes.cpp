#include "bindings.hpp"

#include "tenfold/sparse_codes.hpp"

namespace tenfold {
namespace {

Index checked_codes(const In<double, 2> &A, const In<double, 2> &C) {
  const Index k = A.shape(0);
  require(k >= 1 && A.shape(1) == k, "A must be square");
  require(C.shape(1) == k, "C must be (n, k)");
  return k;
}

} // namespace

void bind_sparse_codes(nb::module_ &m) {
  m.def(
      "lasso_codes",
      [](const In<double, 2> &A, const In<double, 2> &C, const In<double, 2> &W, double alpha, bool positive,
         Index sweeps, int threads) {
        const Index k = checked_codes(A, C);
        require(W.shape(0) == C.shape(0) && W.shape(1) == k, "W must be (n, k)");
        require(alpha >= 0.0, "alpha must be at least 0");
        const int workers = checked_threads(threads);
        const Out<double, 2> out({C.shape(0), k});
        std::copy(W.span().begin(), W.span().end(), out.span().begin());
        {
          const nb::gil_scoped_release release;
          lasso_codes(A.span(), C.span(), out.span(), k, LassoOptions{alpha, positive}, sweeps, workers);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("C"), nb::arg("W"), nb::arg("alpha"), nb::arg("positive"), nb::arg("sweeps"),
      nb::arg("threads"), "The minimisers of (1/2) w'Aw - c'w + alpha |w|_1, from the rows of W.");
  m.def(
      "pursuit_codes",
      [](const In<double, 2> &A, const In<double, 2> &C, Index most, int threads) {
        const Index k = checked_codes(A, C);
        require(most >= 0, "most must be at least 0");
        const int workers = checked_threads(threads);
        const Out<double, 2> out({C.shape(0), k});
        {
          const nb::gil_scoped_release release;
          pursuit_codes(A.span(), C.span(), out.span(), k, most, workers);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("C"), nb::arg("most"), nb::arg("threads"),
      "Codes of at most so many atoms by orthogonal matching pursuit.");
  m.def(
      "angle_codes",
      [](const In<double, 2> &A, const In<double, 2> &C, const In<double, 1> &squares, Index most, int threads) {
        const Index k = checked_codes(A, C);
        require(squares.shape(0) == C.shape(0), "squares must have one entry a sample");
        require(most >= 0, "most must be at least 0");
        const int workers = checked_threads(threads);
        const Out<double, 2> out({C.shape(0), k});
        {
          const nb::gil_scoped_release release;
          angle_codes(A.span(), C.span(), squares.span(), out.span(), k, most, workers);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("C"), nb::arg("squares"), nb::arg("most"), nb::arg("threads"),
      "Codes after so many steps of least angle regression.");
  m.def(
      "update_atoms",
      [](const In<double, 2> &A, const In<double, 2> &B, const In<double, 2> &D, bool positive, Index sweeps) {
        const Index k = A.shape(0), p = D.shape(1);
        require(A.shape(1) == k && B.shape(0) == k && D.shape(0) == k && B.shape(1) == p,
                "A must be (k, k), B and D (k, p)");
        const Out<double, 2> out({k, p});
        std::copy(D.span().begin(), D.span().end(), out.span().begin());
        {
          const nb::gil_scoped_release release;
          update_atoms(A.span(), B.span(), out.span(), k, p, positive, sweeps);
        }
        return out.give();
      },
      nb::arg("A"), nb::arg("B"), nb::arg("D"), nb::arg("positive"), nb::arg("sweeps"),
      "Atoms after sweeps of projected coordinate steps for the sums A = W'W and B = W'X.");
}

} // namespace tenfold
