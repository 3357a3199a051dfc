// Sparse codes of many samples with one dictionary, on the Gram matrix A (k, k) of its atoms and the products C (n, k)
// of the samples with them; and the atoms for given codes.
//
// lasso_codes    minimise (1/2) w'Aw - c'w + alpha |w|_1, from the rows of W, in their place (lasso_rows.hpp).
// pursuit_codes  orthogonal matching pursuit (Rubinstein, Zibulevsky and Elad 2008): the atom with the largest
//                correlation joins, and the weights are those of least squares on the atoms so far.
// angle_codes    least angle regression (lars.hpp), a number of steps.
// update_atoms   sweeps over the atoms, d_k <- P(d_k + (b_k - D'a_k) / a_kk) with P the projection on the unit ball, or
//                its part with no negative entry; for sums A = W'W and B = W'X (Mairal, Bach, Ponce and Sapiro 2009).
// Samples do not depend on each other. Flops: 2 k m a step with m atoms; 2 k^2 p a sweep over atoms.
#pragma once

#include "tenfold/lars.hpp"
#include "tenfold/lasso_rows.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/thread_pool.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

// Calls solve(solver, row) for rows of n in items on the pool, with a solver made by make() for each item.
template <class Make, class Solve> void over_code_rows(Index n, int threads, Make &&make, Solve &&solve) {
  constexpr Index rows = 64, items_between_polls = 64;
  const Index items = (n + rows - 1) / rows, most = items_between_polls * threads;
  for (Index start = 0; start < items; start += most) {
    poll();
    parallel(std::min(most, items - start), threads, [&](Index item, int) {
      auto solver = make();
      const Index end = std::min(n, (start + item + 1) * rows);
      for (Index i = (start + item) * rows; i < end; ++i)
        solve(solver, i);
    });
  }
}

inline void lasso_codes(std::span<const double> A, std::span<const double> C, std::span<double> W, Index k,
                        const LassoOptions &options, Index sweeps, int threads) {
  constexpr double fraction = 1e-2;
  over_code_rows(
      static_cast<Index>(W.size()) / k, threads, [&] { return LassoRow(A, k, options); },
      [&](LassoRow &solver, Index i) {
        solver.sweep(C.data() + i * k, W.data() + i * k, sweeps, fraction);
        solver.solve(C.data() + i * k, W.data() + i * k);
      });
}

// Orthogonal matching pursuit for one sample.
class PursuitRow {
public:
  PursuitRow(std::span<const double> A, Index k) : A_(A), k_(k), correlation_(static_cast<std::size_t>(k)) {}

  void solve(const double *c, Index most, double *w) {
    constexpr double unit = std::numeric_limits<double>::epsilon(), dependent = 1e-13;
    Cholesky factor;
    active_.clear();
    weights_.clear();
    std::copy_n(c, k_, correlation_.begin());
    double largest = 0.0;
    for (Index j = 0; j < k_; ++j)
      largest = std::max(largest, std::abs(c[j]));
    while (static_cast<Index>(active_.size()) < most) {
      Index best = -1;
      double size = 16.0 * unit * static_cast<double>(active_.size() + 1) * largest;
      for (Index j = 0; j < k_; ++j)
        if (std::abs(correlation_[at(j)]) > size && !is_active(j)) {
          size = std::abs(correlation_[at(j)]);
          best = j;
        }
      if (best < 0)
        break;
      const double *row = A_.data() + best * k_;
      products_.clear();
      for (const Index j : active_)
        products_.push_back(row[j]);
      const double least = dependent * row[best];
      if (!(factor.append(products_, row[best], least) > least))
        break;
      active_.push_back(best);
      weights_.clear();
      for (const Index j : active_)
        weights_.push_back(c[j]);
      factor.solve(weights_);
      std::copy_n(c, k_, correlation_.begin());
      for (std::size_t i = 0; i < active_.size(); ++i)
        kernels().dense<double>().axpy(-weights_[i], A_.data() + active_[i] * k_, k_, correlation_.data());
    }
    std::fill_n(w, k_, 0.0);
    for (std::size_t i = 0; i < active_.size(); ++i)
      w[active_[i]] = weights_[i];
  }

private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  bool is_active(Index j) const { return std::find(active_.begin(), active_.end(), j) != active_.end(); }

  std::span<const double> A_;
  Index k_;
  std::vector<double> correlation_, products_, weights_;
  std::vector<Index> active_;
};

inline void pursuit_codes(std::span<const double> A, std::span<const double> C, std::span<double> W, Index k,
                          Index most, int threads) {
  over_code_rows(
      static_cast<Index>(W.size()) / k, threads, [&] { return PursuitRow(A, k); },
      [&](PursuitRow &solver, Index i) { solver.solve(C.data() + i * k, most, W.data() + i * k); });
}

// squares (n): of the norms of the samples.
inline void angle_codes(std::span<const double> A, std::span<const double> C, std::span<const double> squares,
                        std::span<double> W, Index k, Index most, int threads) {
  std::vector<double> norms(static_cast<std::size_t>(k));
  for (Index j = 0; j < k; ++j)
    norms[static_cast<std::size_t>(j)] = A[static_cast<std::size_t>(j * k + j)];
  LarsOptions options;
  options.max_steps = most;
  options.collinear_tol = 1e-12;
  options.polls = false;
  over_code_rows(
      static_cast<Index>(W.size()) / k, threads, [] { return 0; },
      [&](int, Index i) {
        Lars path(C.subspan(static_cast<std::size_t>(i * k), static_cast<std::size_t>(k)), norms,
                  squares[static_cast<std::size_t>(i)], options);
        for (Index column = path.advance(); column >= 0; column = path.advance())
          path.set_gram_row(column, A.subspan(static_cast<std::size_t>(column * k), static_cast<std::size_t>(k)));
        const std::vector<double> &weights = path.weights();
        std::copy(weights.end() - k, weights.end(), W.data() + i * k);
      });
}

// An atom whose codes are all zero stays as it is.
inline void update_atoms(std::span<const double> A, std::span<const double> B, std::span<double> D, Index k, Index p,
                         bool positive, Index sweeps) {
  std::vector<double> atom(static_cast<std::size_t>(p));
  for (Index number = 0; number < sweeps; ++number) {
    poll();
    for (Index r = 0; r < k; ++r) {
      const double *row = A.data() + r * k;
      if (!(row[r] > 0.0))
        continue;
      std::copy_n(B.data() + r * p, p, atom.begin());
      for (Index s = 0; s < k; ++s)
        if (row[s] != 0.0)
          kernels().dense<double>().axpy(-row[s], D.data() + s * p, p, atom.data());
      double square = 0.0;
      for (Index j = 0; j < p; ++j) {
        double &value = atom[static_cast<std::size_t>(j)];
        value = D.data()[r * p + j] + value / row[r];
        value = positive ? std::max(value, 0.0) : value;
        square += value * value;
      }
      const double scale = square > 1.0 ? 1.0 / std::sqrt(square) : 1.0;
      for (Index j = 0; j < p; ++j)
        D.data()[r * p + j] = atom[static_cast<std::size_t>(j)] * scale;
    }
  }
}

} // namespace tenfold
