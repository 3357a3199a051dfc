// Newton direction on the active set of F of cd.hpp: the exact minimiser on the support if no sign changes (one
// target), or the Newton step (several).
//
// With A the columns with nonzero weights, solves  (S_AA + D) d = q_A - l2 u^2 w_A - l1 u w_A / |w_A|  for the Gram
// matrix S and the correlations q; D is the curvature of the penalties. The diagonal is enlarged by a few units of
// rounding, so that collinear columns do not make the factorisation fail. Flops: (targets * columns)^3 / 3.
//
// For one target D does not depend on the weights, and the Cholesky factor U'U of one set B is reused for every active
// set A that has gained columns E and lost columns L, by the bordered system in which d_L = 0,
//   [S_BB  S_BE  I_L]
//   [S_EB  S_EE   0 ]  with the Schur complement, for M = U'^-1 [S_BE, I_L],  T = [S_EE 0; 0 0] - M'M:
//   [I_L'   0     0 ]
// positive definite on E and negative definite on L, so that elimination needs no pivoting. Columns of M are cached.
// Flops: |B|^2 for each new column of M, and 4 |B|^2.
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/elastic_net.hpp"
#include "tenfold/poll.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

class ActiveSetSolver {
public:
  explicit ActiveSetSolver(const Blas &blas) : blas_(blas) {}

  std::span<const Index> support() const { return support_; }

  // Finds the active set. Column numbers of a storage must be stable; more columns may follow.
  template <class Storage> void select_active(const Storage &storage, std::span<const double> weights, double l2) {
    const Index p = storage.columns(), t = storage.targets();
    position_.resize(at(p), none);
    support_.clear();
    for (Index j = 0; j < p; ++j)
      for (Index k = 0; k < t; ++k)
        if (weights[at(k * p + j)] != 0.0) {
          support_.push_back(j);
          break;
        }
    unknowns_ = t * static_cast<Index>(support_.size());
    changes_.clear();
    if (t > 1 || l2 != l2_)
      discard_factor();
    if (factored_.empty())
      return;
    for (const Index j : support_)
      if (position_[at(j)] == none)
        changes_.push_back(j);
    entered_ = changes_.size();
    for (const Index j : factored_)
      if (weights[at(j)] == 0.0)
        changes_.push_back(j);
    if (static_cast<Index>(changes_.size()) > std::max<Index>(max_changes, static_cast<Index>(factored_.size()) / 6))
      discard_factor();
  }

  // Estimated cost, in the units of the storage's work.
  template <class Storage> double cost(const Storage &storage) const {
    const double n = static_cast<double>(unknowns_), q = static_cast<double>(support_.size());
    const double product = storage.gram_entry_work();
    double reset = 0.0;
    for (const Index j : support_)
      reset += static_cast<double>(storage.targets()) * storage.update_work(j);
    if (unknowns_ > max_unknowns)
      return std::numeric_limits<double>::infinity();
    if (factored_.empty()) // amortised: a factor for one target serves later steps too
      return n * n * n / (storage.targets() > 1 ? 24.0 : 72.0) + 0.5 * q * q * product + reset;
    double fresh = 0.0;
    for (const Index j : changes_)
      fresh += std::find(solved_columns_.begin(), solved_columns_.end(), j) == solved_columns_.end() ? 1.0 : 0.0;
    const double size = static_cast<double>(factored_.size());
    return size * size * (2.0 + fresh / 8.0) + fresh * size * product + reset;
  }

  // The direction on the active set, as weights (targets x columns); false where the system is singular.
  template <class Storage>
  bool solve(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
             std::span<const double> weights, std::span<double> step) {
    const Index p = storage.columns(), t = storage.targets(), q = static_cast<Index>(support_.size());
    fill_rhs(storage, penalty, unit, weights);
    bool solved = !factored_.empty() && solve_bordered(storage, penalty, unit);
    if (!solved) {
      discard_factor();
      solved = factorise(storage, penalty, unit, weights) && solve_factored();
    }
    if (!solved)
      return false;
    std::fill(step.begin(), step.end(), 0.0);
    for (Index a = 0; a < q; ++a)
      for (Index k = 0; k < t; ++k)
        step[at(k * p + support_[at(a)])] = rhs_[at(a * t + k)];
    return true;
  }

  // Drops the factor; the next solve factorises anew.
  void discard_factor() {
    for (const Index j : factored_)
      position_[at(j)] = none;
    factored_.clear();
    changes_.clear();
    solved_columns_.clear();
    entered_ = 0;
  }

private:
  static constexpr double diagonal_shift = 1e-13; // relative increase of the diagonal, some units of rounding
  static constexpr Index none = -1, max_changes = 16, block = 512; // block: columns of a Cholesky block
  static constexpr Index max_unknowns = 8192;                      // the factor takes half a gigabyte

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // The right-hand side, on the active set.
  template <class Storage>
  void fill_rhs(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
                std::span<const double> weights) {
    const Index p = storage.columns(), t = storage.targets();
    rhs_.resize(at(unknowns_));
    correlation_.resize(at(t));
    for (std::size_t a = 0; a < support_.size(); ++a) {
      const Index j = support_[a];
      const double u = unit[at(j)], l1_curvature = penalty.l1 * u / norm_of(weights, j, p, t);
      storage.correlation(j, correlation_.data());
      for (Index k = 0; k < t; ++k)
        rhs_[a * at(t) + at(k)] = correlation_[at(k)] - (penalty.l2 * u * u + l1_curvature) * weights[at(k * p + j)];
    }
  }

  static double norm_of(std::span<const double> weights, Index j, Index p, Index t) {
    double squares = 0.0;
    for (Index k = 0; k < t; ++k)
      squares += weights[at(k * p + j)] * weights[at(k * p + j)];
    return std::sqrt(squares);
  }

  // Cholesky factor on the active set. The lower triangle in C order is the upper one in Fortran order.
  template <class Storage>
  bool factorise(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
                 std::span<const double> weights) {
    const Index p = storage.columns(), t = storage.targets(), q = static_cast<Index>(support_.size()), size = t * q;
    factor_.resize(at(size * size));
    for (Index a = 0; a < q; ++a) {
      const Index j = support_[at(a)];
      for (Index k = 0; k < t; ++k) {
        double *row = factor_.data() + (a * t + k) * size;
        std::fill_n(row, (a + 1) * t, 0.0);
        for (Index b = 0; b <= a; ++b)
          row[b * t + k] = storage.gram_entry(j, support_[at(b)]);
        const double u = unit[at(j)];
        row[a * t + k] += penalty.l2 * u * u;
        if (t > 1)
          add_norm_curvature(weights, j, p, t, k, penalty.l1 * u, row + a * t);
        row[a * t + k] *= 1.0 + diagonal_shift;
      }
    }
    if (!factorise_blocked(size))
      return false;
    if (t == 1) {
      factored_ = support_;
      l2_ = penalty.l2;
      for (Index a = 0; a < q; ++a)
        position_[at(factored_[at(a)])] = a;
    }
    return true;
  }

  // Blocked right-looking Cholesky, U'U = matrix, which polls for cancellation between blocks.
  bool factorise_blocked(Index size) {
    char upper = 'U', left = 'L', transposed = 'T', as_is = 'N';
    double one = 1.0, minus = -1.0;
    int lead = static_cast<int>(size), info = 0;
    const auto entry = [&](Index i, Index j) { return factor_.data() + j * size + i; };
    for (Index k = 0; k < size; k += block) {
      const Index next = std::min(k + block, size);
      int block_size = static_cast<int>(next - k), rest = static_cast<int>(size - next);
      blas_.dpotrf(&upper, &block_size, entry(k, k), &lead, &info);
      if (info != 0)
        return false;
      if (rest > 0)
        blas_.dtrsm(&left, &upper, &transposed, &as_is, &block_size, &rest, &one, entry(k, k), &lead, entry(k, next),
                    &lead);
      for (Index j = next; j < size; j += block) {
        poll();
        const Index end = std::min(j + block, size);
        int rows = static_cast<int>(end - next), columns = static_cast<int>(end - j);
        blas_.dgemm(&transposed, &as_is, &rows, &columns, &block_size, &minus, entry(k, next), &lead, entry(k, j),
                    &lead, &one, entry(next, j), &lead);
      }
    }
    return true;
  }

  // Adds the Hessian of the norm of the t weights of column j, in the row of target k.
  static void add_norm_curvature(std::span<const double> weights, Index j, Index p, Index t, Index k, double l1,
                                 double *row) {
    const double length = norm_of(weights, j, p, t), l1_curvature = l1 / length;
    for (Index i = 0; i <= k; ++i)
      row[i] +=
          l1_curvature * ((i == k ? 1.0 : 0.0) - weights[at(k * p + j)] / length * (weights[at(i * p + j)] / length));
  }

  bool solve_factored() {
    char upper = 'U';
    int n = static_cast<int>(unknowns_), one = 1, info = 0;
    blas_.dpotrs(&upper, &n, &one, factor_.data(), &n, rhs_.data(), &n, &info);
    return info == 0 && finite(rhs_);
  }

  static bool finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  }

  // Solves with the factor of another active set.
  template <class Storage>
  bool solve_bordered(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit) {
    const Index k = static_cast<Index>(factored_.size()), q = static_cast<Index>(changes_.size());
    update_half_solved(storage);
    // y = U'^-1 g, g zero at columns of L
    factored_rhs_.assign(at(k), 0.0);
    for (std::size_t a = 0; a < support_.size(); ++a)
      if (const Index b = position_[at(support_[a])]; b != none)
        factored_rhs_[at(b)] = rhs_[a];
    solve_triangle('T', k, factored_rhs_.data(), 1);
    border_.resize(at(q * q));
    border_rhs_.resize(at(q));
    gemm(blas_, {half_solved_.data(), k, false}, {half_solved_.data(), k, true}, q, q, k, border_.data(), q);
    gemm(blas_, {half_solved_.data(), k, false}, {factored_rhs_.data(), 1, false}, q, 1, k, border_rhs_.data(), 1);
    for (double &value : border_)
      value = -value;
    std::size_t next = 0; // E is in the order of the support
    for (std::size_t a = 0; a < support_.size(); ++a)
      if (position_[at(support_[a])] == none)
        border_rhs_[next] = rhs_[a] - border_rhs_[next], ++next;
    for (; next < border_rhs_.size(); ++next)
      border_rhs_[next] = -border_rhs_[next];
    for (std::size_t i = 0; i < entered_; ++i) {
      for (std::size_t l = 0; l <= i; ++l)
        border_[i * at(q) + l] += storage.gram_entry(changes_[i], changes_[l]);
      const double u = unit[at(changes_[i])];
      border_[i * at(q) + i] += penalty.l2 * u * u;
    }
    if (!eliminate(q))
      return false;
    // d_B = U^-1 (y - M z)
    for (Index i = 0; i < q; ++i)
      for (Index b = 0; b < k; ++b)
        factored_rhs_[at(b)] -= border_rhs_[at(i)] * half_solved_[at(i * k + b)];
    solve_triangle('N', k, factored_rhs_.data(), 1);
    next = 0;
    for (std::size_t a = 0; a < support_.size(); ++a) {
      const Index b = position_[at(support_[a])];
      rhs_[a] = b != none ? factored_rhs_[at(b)] : border_rhs_[next++];
    }
    return finite(rhs_);
  }

  // Updates M to the present changes, reusing cached columns.
  template <class Storage> void update_half_solved(const Storage &storage) {
    const Index k = static_cast<Index>(factored_.size());
    std::vector<double> &kept = buffer_;
    kept.resize(changes_.size() * at(k));
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const auto old = std::find(solved_columns_.begin(), solved_columns_.end(), changes_[i]);
      if (old == solved_columns_.end())
        fresh.push_back(i);
      else
        std::copy_n(half_solved_.begin() + (old - solved_columns_.begin()) * k, k,
                    kept.begin() + static_cast<Index>(i) * k);
    }
    new_columns_.assign(fresh.size() * at(k), 0.0);
    for (std::size_t f = 0; f < fresh.size(); ++f) {
      double *column = new_columns_.data() + f * at(k);
      const Index j = changes_[fresh[f]];
      if (const Index b = position_[at(j)]; b != none)
        column[b] = 1.0;
      else
        for (Index i = 0; i < k; ++i)
          column[i] = storage.gram_entry(j, factored_[at(i)]);
    }
    solve_triangle('T', k, new_columns_.data(), static_cast<Index>(fresh.size()));
    for (std::size_t f = 0; f < fresh.size(); ++f)
      std::copy_n(new_columns_.begin() + static_cast<Index>(f) * k, k, kept.begin() + static_cast<Index>(fresh[f]) * k);
    half_solved_.swap(kept);
    solved_columns_ = changes_;
  }

  // x = U^-1 x, or U'^-1 x, for `count` columns x of length k.
  void solve_triangle(char transposed, Index k, double *x, Index count) {
    char left = 'L', upper = 'U', whole = 'N';
    int n = static_cast<int>(k), columns = static_cast<int>(count), one = 1;
    double unchanged = 1.0;
    if (count == 1)
      blas_.dtrsv(&upper, &transposed, &whole, &n, factor_.data(), &n, x, &one);
    else if (count > 1)
      blas_.dtrsm(&left, &upper, &transposed, &whole, &n, &columns, &unchanged, factor_.data(), &n, x, &n);
  }

  // Solves T z = right by elimination in the lower triangle; false where a pivot has the wrong sign.
  bool eliminate(Index q) {
    const auto T = [&](Index i, Index l) -> double & { return border_[at(i * q + l)]; };
    for (Index l = 0; l < q; ++l) {
      const double pivot = T(l, l);
      if (!(at(l) < entered_ ? pivot > 0.0 : pivot < 0.0))
        return false;
      for (Index i = l + 1; i < q; ++i) {
        const double factor = T(i, l) / pivot;
        for (Index m = l + 1; m <= i; ++m)
          T(i, m) -= factor * T(m, l);
        border_rhs_[at(i)] -= factor * border_rhs_[at(l)];
      }
    }
    for (Index l = q; l-- > 0;) {
      for (Index i = l + 1; i < q; ++i)
        border_rhs_[at(l)] -= T(i, l) * border_rhs_[at(i)];
      border_rhs_[at(l)] /= T(l, l);
    }
    return true;
  }

  const Blas &blas_;
  std::vector<Index> support_, position_; // the active set; position of a column in the factored set
  Index unknowns_ = 0;
  std::vector<double> factor_, rhs_, correlation_;
  std::vector<Index> factored_, changes_, solved_columns_; // B; E, then L; the columns of M
  std::size_t entered_ = 0;
  double l2_ = 0.0;
  std::vector<double> half_solved_, buffer_, new_columns_, factored_rhs_, border_,
      border_rhs_; // M and its double buffer, y, T and its right-hand side
};

} // namespace tenfold
