#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/cd_csc.hpp"
#include "tenfold/cd_dense.hpp"
#include "tenfold/cd_gram.hpp"

namespace tenfold {
namespace {

CoordinateOrder make_order(std::optional<std::uint64_t> seed) {
  return seed ? CoordinateOrder(*seed) : CoordinateOrder();
}

// Solves for one penalty after the other with the solver that `make_solver` returns: weights of this shape, gaps and
// sweeps.
template <class MakeSolver>
auto solve_path(const MakeSolver &make_solver, const Shape<3> &shape, const In<double, 1> &l1, const In<double, 1> &l2,
                bool positive, double tol, Index max_sweeps, std::optional<std::uint64_t> seed) {
  Out<double, 3> weights(shape);
  std::vector<double> gaps(static_cast<std::size_t>(shape[0]));
  std::vector<std::int64_t> sweeps(gaps.size());
  {
    const nb::gil_scoped_release release;
    CoordinateOrder order = make_order(seed);
    auto problem = make_solver();
    for (std::size_t a = 0; a < gaps.size(); ++a) {
      const CdResult state = problem.run({l1.data()[a], l2.data()[a], positive}, tol, max_sweeps, order);
      gaps[a] = state.gap;
      sweeps[a] = state.sweeps;
      std::copy(problem.weights().begin(), problem.weights().end(),
                weights.span().begin() + static_cast<Index>(a) * shape[1] * shape[2]);
    }
  }
  return std::make_tuple(weights.give(), give<double, 1>(std::move(gaps), {shape[0]}),
                         give<std::int64_t, 1>(std::move(sweeps), {shape[0]}));
}

auto cd_gram(const In<double, 2> &S, const In<double, 2> &C, double yy, const In<double, 1> &unit,
             const In<double, 2> &start, const In<double, 1> &l1, const In<double, 1> &l2, bool positive, double tol,
             Index max_sweeps, std::optional<std::uint64_t> seed) {
  const Index p = C.shape(1), t = C.shape(0), A = l1.shape(0);
  require(p > 0 && t > 0, "C must be (targets, columns)");
  require(S.shape(0) >= p && S.shape(1) >= p, "S must have a row and a column for each column of C");
  require(start.shape(0) == t && start.shape(1) == p, "start must be (targets, columns)");
  require(unit.shape(0) == p, "unit must have one entry a column");
  require(l2.shape(0) == A, "l1 and l2 must have the same length");
  require(!positive || t == 1, "positive weights are for one target");
  const Blas &blas = scipy_blas();
  const auto make_solver = [&] { return CdGram(blas, S.span(), S.shape(1), C.span(), yy, unit.span(), start.span()); };
  return solve_path(make_solver, {A, t, p}, l1, l2, positive, tol, max_sweeps, seed);
}

// On dense columns (q x n), centred, for targets (t x n).
auto cd_dense(const In<double, 2> &columns, const In<double, 2> &targets, const In<double, 2> &start,
              const In<double, 1> &l1, const In<double, 1> &l2, bool positive, double tol, Index max_sweeps,
              std::optional<std::uint64_t> seed) {
  const Index q = columns.shape(0), n = columns.shape(1), t = targets.shape(0), A = l1.shape(0);
  require(q > 0 && n > 0 && t > 0, "there must be a column, a sample and a target");
  require(targets.shape(1) == n, "targets must have one entry a sample");
  require(start.shape(0) == t && start.shape(1) == q, "start must be (targets, columns)");
  require(l2.shape(0) == A, "l1 and l2 must have the same length");
  require(!positive || t == 1, "positive weights are for one target");
  const Blas &blas = scipy_blas();
  const auto make_solver = [&] {
    return CdColumns(blas, DenseStorage(columns.span(), q, targets.span(), n), start.span());
  };
  return solve_path(make_solver, {A, t, q}, l1, l2, positive, tol, max_sweeps, seed);
}

// On CSC columns (n x q) with these means, for targets (t x n).
template <class I>
auto cd_csc(const In<double, 1> &data, const In<I, 1> &indices, const Pointers &indptr, const In<double, 1> &means,
            const In<double, 2> &targets, const In<double, 2> &start, const In<double, 1> &l1, const In<double, 1> &l2,
            bool positive, double tol, Index max_sweeps, std::optional<std::uint64_t> seed) {
  const Index q = means.shape(0), t = targets.shape(0), n = targets.shape(1), A = l1.shape(0);
  const Compressed<double, I> columns(data, indices, indptr, n);
  require(q > 0 && t > 0, "there must be a column and a target");
  require(columns.view.rows == q, "indptr must have one entry more than there are columns");
  require(start.shape(0) == t && start.shape(1) == q, "start must be (targets, columns)");
  require(l2.shape(0) == A, "l1 and l2 must have the same length");
  require(!positive || t == 1, "positive weights are for one target");
  bool good = true;
  for (std::size_t j = 0; j < static_cast<std::size_t>(q); ++j) {
    Index last = -1;
    for (std::int64_t k = columns.view.indptr[j]; k < columns.view.indptr[j + 1]; ++k) {
      const auto row = static_cast<Index>(columns.view.indices[static_cast<std::size_t>(k)]);
      good &= row > last && row < n;
      last = row;
    }
  }
  require(good, "row numbers of a column must grow, and be below the length of the targets");
  const Blas &blas = scipy_blas();
  const CscColumns<I> columns_csc{columns.view.data, columns.view.indices, columns.view.indptr, means.span()};
  const auto make_solver = [&] { return CdColumns(blas, CscStorage<I>(columns_csc, targets.span(), t), start.span()); };
  return solve_path(make_solver, {A, t, q}, l1, l2, positive, tol, max_sweeps, seed);
}

template <class I> void bind_csc(nb::module_ &m) {
  m.def("cd_csc", &cd_csc<I>, nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("means"),
        nb::arg("targets"), nb::arg("start"), nb::arg("l1"), nb::arg("l2"), nb::arg("positive"), nb::arg("tol"),
        nb::arg("max_sweeps"), nb::arg("seed").none(),
        "Coordinate descent along compressed columns for one penalty after the other: (weights (A, t, q), gaps, "
        "sweeps).");
}

} // namespace

void bind_cd(nb::module_ &m) {
  m.def("cd_gram", &cd_gram, nb::arg("S"), nb::arg("C"), nb::arg("yy"), nb::arg("unit"), nb::arg("start"),
        nb::arg("l1"), nb::arg("l2"), nb::arg("positive"), nb::arg("tol"), nb::arg("max_sweeps"),
        nb::arg("seed").none(),
        "Coordinate descent on a Gram matrix for one penalty after the other: (weights (A, t, p), gaps, sweeps).");
  m.def("cd_dense", &cd_dense, nb::arg("columns"), nb::arg("targets"), nb::arg("start"), nb::arg("l1"), nb::arg("l2"),
        nb::arg("positive"), nb::arg("tol"), nb::arg("max_sweeps"), nb::arg("seed").none(),
        "Coordinate descent on dense columns (q x n) for one penalty after the other: (weights (A, t, q), gaps, "
        "sweeps).");
  bind_csc<std::int32_t>(m);
  bind_csc<std::int64_t>(m);
}

} // namespace tenfold
