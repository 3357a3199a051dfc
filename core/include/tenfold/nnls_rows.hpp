// Non-negative least squares with one Gram matrix A (k, k) and many right-hand sides:
//   minimise (1/2) w'Aw - c'w over w >= 0 for each row c of C (n, k), from the rows of W (n, k), in their place.
//
// sweep_nnls  a few sweeps of coordinate descent (core/src/isa/nonnegative.hpp).
// solve_nnls  the same, then an active set method (Lawson and Hanson 1974) from there: the free weights take a Newton
//             step, up to the first that would turn negative, which is fixed at zero; where the step is complete, the
//             weight with the most negative gradient is freed. Exact up to rounding. A free weight that depends on
//             others up to rounding does not move.
// Flops: 2 k^2 a sweep and row; k^3 / 3 a step of the active set and row. Rows do not depend on each other beyond
// their tile, and tiles not on threads.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/thread_pool.hpp"

#include <cmath>
#include <limits>
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

// The active set method for one row.
class ActiveSet {
public:
  explicit ActiveSet(const NnlsProblem &problem)
      : problem_(problem), k_(problem.size()), gradient_(static_cast<std::size_t>(k_)),
        rounding_(static_cast<std::size_t>(k_)), free_(static_cast<std::size_t>(k_)), step_(gradient_.size()),
        factor_(static_cast<std::size_t>(k_ * k_)) {}

  void solve(const double *c, double *w) {
    for (Index r = 0; r < k_; ++r)
      free_[at(r)] = w[r] > 0.0;
    Index freed = -1;
    for (Index steps = 0; steps < 10 * k_ + 20; ++steps) {
      differentiate(c, w);
      newton();
      const bool complete = advance(w);
      if (!complete)
        continue;
      differentiate(c, w);
      const Index entering = most_negative();
      // a weight that was freed and does not move has a gradient of rounding
      if (entering < 0 || (entering == freed && w[entering] == 0.0))
        return;
      free_[at(entering)] = true;
      freed = entering;
    }
  }

private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void differentiate(const double *c, const double *w) {
    constexpr double unit = std::numeric_limits<double>::epsilon();
    for (Index r = 0; r < k_; ++r) {
      double sum = -c[r], size = std::abs(c[r]);
      for (Index s = 0; s < k_; ++s) {
        const double term = problem_.entry(r, s) * w[s];
        sum += term;
        size += std::abs(term);
      }
      gradient_[at(r)] = sum;
      rounding_[at(r)] = 4.0 * static_cast<double>(k_ + 4) * unit * size;
    }
  }

  // step = -A_FF^-1 g_F over the free weights F, by Cholesky; zero for dependent ones.
  void newton() {
    order_.clear();
    for (Index r = 0; r < k_; ++r) {
      step_[at(r)] = 0.0;
      if (free_[at(r)])
        order_.push_back(r);
    }
    const Index m = static_cast<Index>(order_.size());
    values_.assign(order_.size(), 0.0);
    for (Index i = 0; i < m; ++i) {
      const Index r = order_[at(i)];
      double *row = factor_.data() + i * k_;
      double pivot = problem_.entry(r, r);
      for (Index j = 0; j < i; ++j) {
        const double *other = factor_.data() + j * k_;
        double sum = problem_.entry(r, order_[at(j)]);
        for (Index t = 0; t < j; ++t)
          sum -= row[t] * other[t];
        row[j] = other[j] > 0.0 ? sum / other[j] : 0.0;
        pivot -= row[j] * row[j];
      }
      constexpr double dependent = 1e-14;
      row[i] = pivot > dependent * problem_.entry(r, r) ? std::sqrt(pivot) : 0.0;
      double value = -gradient_[at(r)];
      for (Index t = 0; t < i; ++t)
        value -= row[t] * values_[at(t)];
      values_[at(i)] = row[i] > 0.0 ? value / row[i] : 0.0;
    }
    for (Index i = m - 1; i >= 0; --i) {
      const double *row = factor_.data() + i * k_;
      const double value = row[i] > 0.0 ? values_[at(i)] / row[i] : 0.0;
      step_[at(order_[at(i)])] = value;
      for (Index t = 0; t < i; ++t)
        values_[at(t)] -= row[t] * value;
    }
  }

  // Goes along the step while all weights stay at least zero; whether that was all of it.
  bool advance(double *w) {
    double length = 1.0;
    Index first = -1;
    for (const Index r : order_)
      if (step_[at(r)] < 0.0 && w[r] < -length * step_[at(r)]) {
        length = w[r] / -step_[at(r)];
        first = r;
      }
    for (const Index r : order_) {
      w[r] = std::max(0.0, w[r] + length * step_[at(r)]);
      if (w[r] == 0.0)
        free_[at(r)] = false;
    }
    if (first < 0)
      return true;
    w[first] = 0.0;
    free_[at(first)] = false;
    return false;
  }

  Index most_negative() const {
    Index best = -1;
    for (Index r = 0; r < k_; ++r)
      if (!free_[at(r)] && problem_.entry(r, r) > 0.0 && gradient_[at(r)] < -rounding_[at(r)] &&
          (best < 0 || gradient_[at(r)] < gradient_[at(best)]))
        best = r;
    return best;
  }

  const NnlsProblem &problem_;
  Index k_;
  std::vector<double> gradient_, rounding_;
  std::vector<bool> free_;
  std::vector<double> step_, factor_, values_;
  std::vector<Index> order_;
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
    ActiveSet active(problem);
    for (Index i = begin; i < end; ++i)
      active.solve(C.data() + i * k, W.data() + i * k);
  });
}

} // namespace tenfold
