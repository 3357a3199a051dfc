#include "bindings.hpp"

#include "tenfold/descent_gram.hpp"

namespace tenfold {
namespace {

Order order_of(std::optional<std::uint64_t> seed) { return seed ? Order(*seed) : Order(); }

nb::tuple descent(const In<double, 2> &S, const In<double, 2> &C, double yy, const In<double, 1> &unit,
                  const In<double, 2> &start, const In<double, 1> &l1, const In<double, 1> &l2, bool positive,
                  double enough, Index most, std::optional<std::uint64_t> seed) {
  const Index p = C.shape(1), t = C.shape(0), A = l1.shape(0);
  require(p > 0 && t > 0, "C must be (targets, columns)");
  require(S.shape(0) >= p && S.shape(1) >= p, "S must have a row and a column for each column of C");
  require(start.shape(0) == t && start.shape(1) == p, "start must be (targets, columns)");
  require(unit.shape(0) == p, "unit must have one entry a column");
  require(l2.shape(0) == A, "l1 and l2 must have the same length");
  require(!positive || t == 1, "positive weights are for one target");
  Out<double, 3> weights({A, t, p});
  std::vector<double> gaps(static_cast<std::size_t>(A));
  std::vector<std::int64_t> sweeps(gaps.size());
  const Blas &blas = scipy_blas();
  {
    const nb::gil_scoped_release release;
    Order order = order_of(seed);
    GramDescent problem(blas, S.span(), S.shape(1), C.span(), yy, unit.span(), start.span());
    for (std::size_t a = 0; a < gaps.size(); ++a) {
      const Descended state = problem.run({l1.data()[a], l2.data()[a], positive}, enough, most, order);
      gaps[a] = state.gap;
      sweeps[a] = state.sweeps;
      std::copy(problem.weights().begin(), problem.weights().end(),
                weights.span().begin() + static_cast<Index>(a) * t * p);
    }
  }
  return nb::make_tuple(weights.give(), give<double, 1>(std::move(gaps), {A}),
                        give<std::int64_t, 1>(std::move(sweeps), {A}));
}

} // namespace

void bind_descent(nb::module_ &m) {
  m.def("descent", &descent, nb::arg("S"), nb::arg("C"), nb::arg("yy"), nb::arg("unit"), nb::arg("start"),
        nb::arg("l1"), nb::arg("l2"), nb::arg("positive"), nb::arg("enough"), nb::arg("most"), nb::arg("seed").none(),
        "Coordinate descent on a Gram matrix for one penalty after the other: (weights (A, t, p), gaps, sweeps).");
}

} // namespace tenfold
