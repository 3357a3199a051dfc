#include "bindings.hpp"

#include "tenfold/cholesky_stack.hpp"

namespace tenfold {

void bind_cholesky(nb::module_ &m) {
  m.def(
      "factor_stack",
      [](const In<double, 3> &H, int threads) {
        const Index count = H.shape(0), q = H.shape(1);
        require(H.shape(2) == q, "H must be (matrices, size, size)");
        const int workers = checked_threads(threads);
        std::vector<double> lower(H.data(), H.data() + count * q * q), least(static_cast<std::size_t>(count));
        {
          const nb::gil_scoped_release release;
          factor_stack(lower, q, workers, least);
        }
        return nb::make_tuple(give<double, 3>(std::move(lower), {count, q, q}),
                              give<double, 1>(std::move(least), {count}));
      },
      nb::arg("H"), nb::arg("threads"),
      "Cholesky factors of symmetric matrices, and what is least left of a diagonal entry of each.");
  m.def(
      "solve_stack",
      [](const In<double, 3> &lower, const In<std::int64_t, 1> &which, const In<double, 2> &g) {
        const Index q = lower.shape(1), count = g.shape(0);
        require(lower.shape(2) == q && g.shape(1) == q, "factors and right-hand sides must be of one size");
        require(which.shape(0) == count, "which must name a factor for each right-hand side");
        for (const std::int64_t k : which.span())
          require(k >= 0 && k < lower.shape(0), "no such factor");
        std::vector<double> x(g.data(), g.data() + count * q);
        {
          const nb::gil_scoped_release release;
          solve_stack(lower.span(), q, which.span(), x);
        }
        return give<double, 2>(std::move(x), {count, q});
      },
      nb::arg("lower"), nb::arg("which"), nb::arg("g"), "Systems solved, each with one of the factors.");
}

} // namespace tenfold
