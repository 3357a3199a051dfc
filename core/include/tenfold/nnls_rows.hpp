// Non-negative least squares with one Gram matrix A (k, k) and many right-hand sides:
//   minimise (1/2) w'Aw - c'w over w >= 0 for each row c of C (n, k), from the rows of W (n, k), in their place.
//
// sweep_nnls  a few sweeps of coordinate descent (core/src/isa/nonnegative.hpp).
// solve_nnls  the same, then the active set method of lasso_rows.hpp from there: exact up to rounding.
// Flops: 2 k^2 a sweep and row. Rows do not depend on each other beyond their tile, and tiles not on threads.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/lasso_rows.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/thread_pool.hpp"

#include <span>
#include <vector>

namespace tenfold {

// A and the inverses of its diagonal.
class NnlsProblem {
public:
  NnlsProblem(std::span<const double> A, Index k) : A_(A), k_(k), inverse_(static_cast<std::size_t>(k)) {
    for (Index r = 0; r < k; ++r)
      inverse_[static_cast<std::size_t>(r)] = entry(r, r) > 0.0 ? 1.0 / entry(r, r) : 0.0;
  }
  Index size() const { return k_; }
  double entry(Index r, Index s) const { return A_.data()[r * k_ + s]; }

  // The rows [begin, end) side by side, at most sweep_rows of them.
  void sweep(const double *C, double *W, Index begin, Index end, Index sweeps, double fraction,
             std::vector<double> &work) const {
    const Index tile = sweep_rows * k_;
    work.assign(static_cast<std::size_t>(2 * tile), 0.0);
    double *c = work.data(), *w = c + tile;
    for (Index i = begin; i < end; ++i)
      for (Index r = 0; r < k_; ++r) {
        c[r * sweep_rows + i - begin] = C[i * k_ + r];
        w[r * sweep_rows + i - begin] = W[i * k_ + r];
      }
    kernels().nonnegative_sweeps(A_.data(), inverse_.data(), c, w, k_, sweeps, fraction);
    for (Index i = begin; i < end; ++i)
      for (Index r = 0; r < k_; ++r)
        W[i * k_ + r] = w[r * sweep_rows + i - begin];
  }

private:
  std::span<const double> A_;
  Index k_;
  std::vector<double> inverse_;
};

constexpr Index nnls_item = 16 * sweep_rows; // rows of an item of the pool

template <class Tile> void over_nnls_tiles(Index n, int threads, Tile &&tile) {
  constexpr Index items_between_polls = 64;
  const Index items = (n + nnls_item - 1) / nnls_item, most = items_between_polls * threads;
  for (Index start = 0; start < items; start += most) {
    poll();
    parallel(std::min(most, items - start), threads, [&](Index item, int) {
      const Index end = std::min(n, (start + item + 1) * nnls_item);
      std::vector<double> work;
      for (Index begin = (start + item) * nnls_item; begin < end; begin += sweep_rows)
        tile(begin, std::min(end, begin + sweep_rows), work);
    });
  }
}

inline void sweep_nnls(std::span<const double> A, std::span<const double> C, std::span<double> W, Index k, Index sweeps,
                       double fraction, int threads) {
  const NnlsProblem problem(A, k);
  over_nnls_tiles(static_cast<Index>(W.size()) / k, threads, [&](Index begin, Index end, std::vector<double> &work) {
    problem.sweep(C.data(), W.data(), begin, end, sweeps, fraction, work);
  });
}

inline void solve_nnls(std::span<const double> A, std::span<const double> C, std::span<double> W, Index k, Index sweeps,
                       int threads) {
  const NnlsProblem problem(A, k);
  constexpr double fraction = 1e-3;
  over_nnls_tiles(static_cast<Index>(W.size()) / k, threads, [&](Index begin, Index end, std::vector<double> &work) {
    problem.sweep(C.data(), W.data(), begin, end, sweeps, fraction, work);
    LassoRow active(A, k, {.alpha = 0.0, .positive = true});
    for (Index i = begin; i < end; ++i)
      active.solve(C.data() + i * k, W.data() + i * k);
  });
}

} // namespace tenfold
