// The exact step among weights that are not zero: where the objective of descent.hpp would be least if none of them
// changed its sign (one target), or Newton's step (several).
//
// With A the columns whose weights are not zero, solves  (S_AA + D) d = q_A - l2 u^2 w_A - l1 u w_A / |w_A|  for the
// products S of the columns and their pulls q; D has the curvature of the penalties. A diagonal that is larger by a few
// units of rounding keeps columns that depend on each other from stopping it. Flops: (targets * columns)^3 / 3.
//
// For one target D does not depend on the weights, and the factor U'U of the products of one set B is kept: it serves
// every set A that has joined columns E more and left columns L less, by the larger system in which d_L = 0,
//   [S_BB  S_BE  I_L]
//   [S_EB  S_EE   0 ]  whose part below S_BB is, for M = U'^-1 [S_BE, I_L],  T = [S_EE 0; 0 0] - M'M:
//   [I_L'   0     0 ]
// positive definite for E and negative definite for L, so that elimination needs no pivots. Columns of M are kept as
// well. Flops: |B|^2 for each column that M did not have, and 4 |B|^2.
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

class SupportStep {
public:
  explicit SupportStep(const Blas &blas) : blas_(blas) {}

  std::span<const Index> support() const { return support_; }

  // Finds the columns of the support. Columns of a storage must keep their numbers; more may follow.
  template <class Storage> void gather(const Storage &storage, std::span<const double> weights, double l2) {
    const Index p = storage.columns(), t = storage.targets();
    place_.resize(at(p), none);
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
      forget();
    if (base_.empty())
      return;
    for (const Index j : support_)
      if (place_[at(j)] == none)
        changes_.push_back(j);
    joined_ = changes_.size();
    for (const Index j : base_)
      if (weights[at(j)] == 0.0)
        changes_.push_back(j);
    if (static_cast<Index>(changes_.size()) > std::max<Index>(few_changes, static_cast<Index>(base_.size()) / 6))
      forget();
  }

  // What the step costs beside the products of a sweep.
  template <class Storage> double price(const Storage &storage) const {
    const double n = static_cast<double>(unknowns_), q = static_cast<double>(support_.size());
    const double product = storage.product_work();
    double reset = 0.0;
    for (const Index j : support_)
      reset += static_cast<double>(storage.targets()) * storage.move_work(j);
    if (unknowns_ > most_unknowns)
      return std::numeric_limits<double>::infinity();
    if (base_.empty()) // a factor for one target serves later steps too
      return n * n * n / (storage.targets() > 1 ? 24.0 : 72.0) + 0.5 * q * q * product + reset;
    double fresh = 0.0;
    for (const Index j : changes_)
      fresh += std::find(solved_.begin(), solved_.end(), j) == solved_.end() ? 1.0 : 0.0;
    const double size = static_cast<double>(base_.size());
    return size * size * (2.0 + fresh / 8.0) + fresh * size * product + reset;
  }

  // The step of the support that was gathered, as weights (targets x columns); false where it cannot be found.
  template <class Storage>
  bool find(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
            std::span<const double> weights, std::span<double> step) {
    const Index p = storage.columns(), t = storage.targets(), q = static_cast<Index>(support_.size());
    fill_side(storage, penalty, unit, weights);
    bool found = !base_.empty() && solve_changed(storage, penalty, unit);
    if (!found) {
      forget();
      found = factorise(storage, penalty, unit, weights) && solve();
    }
    if (!found)
      return false;
    std::fill(step.begin(), step.end(), 0.0);
    for (Index a = 0; a < q; ++a)
      for (Index k = 0; k < t; ++k)
        step[at(k * p + support_[at(a)])] = side_[at(a * t + k)];
    return true;
  }

  // The next factor is made anew.
  void forget() {
    for (const Index j : base_)
      place_[at(j)] = none;
    base_.clear();
    changes_.clear();
    solved_.clear();
    joined_ = 0;
  }

private:
  static constexpr double lift = 1e-13;
  static constexpr Index none = -1, few_changes = 16, block = 512;
  static constexpr Index most_unknowns = 8192; // their products take half a gigabyte

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // The right side, for the columns of the support.
  template <class Storage>
  void fill_side(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
                 std::span<const double> weights) {
    const Index p = storage.columns(), t = storage.targets();
    side_.resize(at(unknowns_));
    pull_.resize(at(t));
    for (std::size_t a = 0; a < support_.size(); ++a) {
      const Index j = support_[a];
      const double u = unit[at(j)], turn = penalty.l1 * u / length_of(weights, j, p, t);
      storage.pull(j, pull_.data());
      for (Index k = 0; k < t; ++k)
        side_[a * at(t) + at(k)] = pull_[at(k)] - (penalty.l2 * u * u + turn) * weights[at(k * p + j)];
    }
  }

  static double length_of(std::span<const double> weights, Index j, Index p, Index t) {
    double squares = 0.0;
    for (Index k = 0; k < t; ++k)
      squares += weights[at(k * p + j)] * weights[at(k * p + j)];
    return std::sqrt(squares);
  }

  // The factor for the support itself. The lower triangle in C order is the upper one column by column.
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
          row[b * t + k] = storage.product(j, support_[at(b)]);
        const double u = unit[at(j)];
        row[a * t + k] += penalty.l2 * u * u;
        if (t > 1)
          bend(weights, j, p, t, k, penalty.l1 * u, row + a * t);
        row[a * t + k] *= 1.0 + lift;
      }
    }
    if (!factorise_blocks(size))
      return false;
    if (t == 1) {
      base_ = support_;
      l2_ = penalty.l2;
      for (Index a = 0; a < q; ++a)
        place_[at(base_[at(a)])] = a;
    }
    return true;
  }

  // U'U = the matrix, in blocks of columns, between which there is time to look for an interruption.
  bool factorise_blocks(Index size) {
    char upper = 'U', left = 'L', transposed = 'T', as_is = 'N';
    double one = 1.0, minus = -1.0;
    int lead = static_cast<int>(size), info = 0;
    const auto entry = [&](Index i, Index j) { return factor_.data() + j * size + i; };
    for (Index k = 0; k < size; k += block) {
      const Index next = std::min(k + block, size);
      int inner = static_cast<int>(next - k), rest = static_cast<int>(size - next);
      blas_.dpotrf(&upper, &inner, entry(k, k), &lead, &info);
      if (info != 0)
        return false;
      if (rest > 0)
        blas_.dtrsm(&left, &upper, &transposed, &as_is, &inner, &rest, &one, entry(k, k), &lead, entry(k, next), &lead);
      for (Index j = next; j < size; j += block) {
        poll();
        const Index end = std::min(j + block, size);
        int rows = static_cast<int>(end - next), columns = static_cast<int>(end - j);
        blas_.dgemm(&transposed, &as_is, &rows, &columns, &inner, &minus, entry(k, next), &lead, entry(k, j), &lead,
                    &one, entry(next, j), &lead);
      }
    }
    return true;
  }

  // The curvature of the length of the t weights of column j, in the row of target k.
  static void bend(std::span<const double> weights, Index j, Index p, Index t, Index k, double l1, double *row) {
    const double length = length_of(weights, j, p, t), turn = l1 / length;
    for (Index i = 0; i <= k; ++i)
      row[i] += turn * ((i == k ? 1.0 : 0.0) - weights[at(k * p + j)] / length * (weights[at(i * p + j)] / length));
  }

  bool solve() {
    char upper = 'U';
    int n = static_cast<int>(unknowns_), one = 1, info = 0;
    blas_.dpotrs(&upper, &n, &one, factor_.data(), &n, side_.data(), &n, &info);
    return info == 0 && finite(side_);
  }

  static bool finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  }

  // The same with the factor of another set.
  template <class Storage>
  bool solve_changed(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit) {
    const Index k = static_cast<Index>(base_.size()), q = static_cast<Index>(changes_.size());
    turn_columns(storage);
    // y = U'^-1 g, g zero where columns have left
    whole_.assign(at(k), 0.0);
    for (std::size_t a = 0; a < support_.size(); ++a)
      if (const Index b = place_[at(support_[a])]; b != none)
        whole_[at(b)] = side_[a];
    triangle('T', k, whole_.data(), 1);
    small_.resize(at(q * q));
    right_.resize(at(q));
    gemm(blas_, {turned_.data(), k, false}, {turned_.data(), k, true}, q, q, k, small_.data(), q);
    gemm(blas_, {turned_.data(), k, false}, {whole_.data(), 1, false}, q, 1, k, right_.data(), 1);
    for (double &value : small_)
      value = -value;
    std::size_t next = 0; // changes that joined stand in the order of the support
    for (std::size_t a = 0; a < support_.size(); ++a)
      if (place_[at(support_[a])] == none)
        right_[next] = side_[a] - right_[next], ++next;
    for (; next < right_.size(); ++next)
      right_[next] = -right_[next];
    for (std::size_t i = 0; i < joined_; ++i) {
      for (std::size_t l = 0; l <= i; ++l)
        small_[i * at(q) + l] += storage.product(changes_[i], changes_[l]);
      const double u = unit[at(changes_[i])];
      small_[i * at(q) + i] += penalty.l2 * u * u;
    }
    if (!eliminate(q))
      return false;
    // d_B = U^-1 (y - M z)
    for (Index i = 0; i < q; ++i)
      for (Index b = 0; b < k; ++b)
        whole_[at(b)] -= right_[at(i)] * turned_[at(i * k + b)];
    triangle('N', k, whole_.data(), 1);
    next = 0;
    for (std::size_t a = 0; a < support_.size(); ++a) {
      const Index b = place_[at(support_[a])];
      side_[a] = b != none ? whole_[at(b)] : right_[next++];
    }
    return finite(side_);
  }

  // Brings M, a column after the other, up to the present changes.
  template <class Storage> void turn_columns(const Storage &storage) {
    const Index k = static_cast<Index>(base_.size());
    std::vector<double> &kept = spare_;
    kept.resize(changes_.size() * at(k));
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const auto old = std::find(solved_.begin(), solved_.end(), changes_[i]);
      if (old == solved_.end())
        fresh.push_back(i);
      else
        std::copy_n(turned_.begin() + (old - solved_.begin()) * k, k, kept.begin() + static_cast<Index>(i) * k);
    }
    fresh_.assign(fresh.size() * at(k), 0.0);
    for (std::size_t f = 0; f < fresh.size(); ++f) {
      double *column = fresh_.data() + f * at(k);
      const Index j = changes_[fresh[f]];
      if (const Index b = place_[at(j)]; b != none)
        column[b] = 1.0;
      else
        for (Index i = 0; i < k; ++i)
          column[i] = storage.product(j, base_[at(i)]);
    }
    triangle('T', k, fresh_.data(), static_cast<Index>(fresh.size()));
    for (std::size_t f = 0; f < fresh.size(); ++f)
      std::copy_n(fresh_.begin() + static_cast<Index>(f) * k, k, kept.begin() + static_cast<Index>(fresh[f]) * k);
    turned_.swap(kept);
    solved_ = changes_;
  }

  // x = U^-1 x, or U'^-1 x, for some columns x of length k.
  void triangle(char transposed, Index k, double *x, Index count) {
    char left = 'L', upper = 'U', whole = 'N';
    int n = static_cast<int>(k), columns = static_cast<int>(count), one = 1;
    double unchanged = 1.0;
    if (count == 1)
      blas_.dtrsv(&upper, &transposed, &whole, &n, factor_.data(), &n, x, &one);
    else if (count > 1)
      blas_.dtrsm(&left, &upper, &transposed, &whole, &n, &columns, &unchanged, factor_.data(), &n, x, &n);
  }

  // Solves T z = right by elimination in the lower triangle; false where a pivot is not of its sign.
  bool eliminate(Index q) {
    const auto T = [&](Index i, Index l) -> double & { return small_[at(i * q + l)]; };
    for (Index l = 0; l < q; ++l) {
      const double pivot = T(l, l);
      if (!(at(l) < joined_ ? pivot > 0.0 : pivot < 0.0))
        return false;
      for (Index i = l + 1; i < q; ++i) {
        const double factor = T(i, l) / pivot;
        for (Index m = l + 1; m <= i; ++m)
          T(i, m) -= factor * T(m, l);
        right_[at(i)] -= factor * right_[at(l)];
      }
    }
    for (Index l = q; l-- > 0;) {
      for (Index i = l + 1; i < q; ++i)
        right_[at(l)] -= T(i, l) * right_[at(i)];
      right_[at(l)] /= T(l, l);
    }
    return true;
  }

  const Blas &blas_;
  std::vector<Index> support_, place_; // columns of the support; where a column stands in the factored set
  Index unknowns_ = 0;
  std::vector<double> factor_, side_, pull_;
  std::vector<Index> base_, changes_, solved_; // the factored set; columns that joined it, then those that left; of M
  std::size_t joined_ = 0;
  double l2_ = 0.0;
  std::vector<double> turned_, spare_, fresh_, whole_, small_, right_; // M and room for the next, y, T and its side
};

} // namespace tenfold
