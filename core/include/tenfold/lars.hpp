// Least angle regression and the Lasso path (Efron, Hastie, Johnstone and Tibshirani 2004) on the Gram matrix.
//
// Given c = X'y (p) and the squared norms of the columns (p) and of y; rows of X'X are requested when a column becomes
// active. At every knot the active columns A have correlations x_j.r = s_j C of one size C, all others at most C, and
//   w_A(C) = u - C d,   u = (X_A'X_A)^-1 c_A,   d = (X_A'X_A)^-1 s_A,   x_j.r decreases by g_j = x_j.X_A d per unit of
//   C.
// C decreases until another column reaches it and becomes active, or (Lasso) a weight reaches zero and is dropped. Ties
// enter in steps of length zero; a column that is collinear with the active ones waits until one of them has been
// dropped; one that was dropped in a step of length zero waits for a longer one. Weights come from u and d, not from
// sums over the steps, and correlations are recomputed every few steps, so that rounding errors do not accumulate.
//
// advance() runs until the path is complete (-1) or a row of X'X is missing (its number): pass it, and call again.
// Flops: 2 k p + 3 k^2 a step, k active columns; memory: the rows of all columns that were ever active.
#pragma once

#include "tenfold/cholesky_update.hpp"
#include "tenfold/poll.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct LarsOptions {
  bool lasso = false;     // drop weights that reach zero
  bool positive = false;  // only positive correlations enter
  double lower_end = 0.0; // C at which the path ends
  Index max_steps = 0;
  double collinear_tol =
      0.0;           // a column is collinear when its squared pivot is at most this fraction of its squared norm
  bool polls = true; // for signals: not on threads of the pool
};

class Lars {
public:
  Lars(std::span<const double> c, std::span<const double> squares, double target_square, const LarsOptions &options)
      : options_(options), p_(static_cast<Index>(c.size())), xty_(c.begin(), c.end()), c_(xty_),
        squares_(squares.begin(), squares.end()), target_(std::sqrt(target_square)), state_(c.size(), Inactive),
        gram_row_index_(c.size(), -1), correlation_slopes_(c.size()) {
    for (std::size_t j = 0; j < c.size(); ++j)
      if (!(squares_[j] > 0.0))
        state_[j] = Excluded;
    const Candidate first = best_candidate();
    next_ = first.column;
    max_correlation_ = std::abs(first.size);
    update_rounding_bound();
    complete_ = next_ < 0 || max_correlation_ <= options_.lower_end + rounding_bound_;
    if (max_correlation_ < options_.lower_end)
      max_correlation_ = options_.lower_end;
    record();
  }

  Index advance() {
    while (!complete_ && steps_ < options_.max_steps) {
      if (options_.polls)
        poll();
      if (next_ >= 0 && gram_row_index_[at(next_)] < 0)
        return next_;
      if (next_ >= 0 && !activate(next_)) {
        next_ = find_tied();
        if (next_ >= 0)
          continue;
      }
      if (active_.empty())
        break;
      step();
    }
    complete_ = true;
    return -1;
  }

  void set_gram_row(Index column, std::span<const double> row) {
    gram_row_index_[at(column)] = static_cast<Index>(rows_.size());
    rows_.emplace_back(row.begin(), row.end());
  }

  std::span<const double> correlations() const { return c_; }
  const std::vector<double> &max_correlations() const { return max_correlations_; }
  const std::vector<Index> &active() const { return active_; }
  const std::vector<double> &weights() const { return weights_; } // of each knot, p of them

private:
  enum State : char { Inactive, Active, Collinear, Tied, Excluded };
  struct Candidate {
    Index column = -1;
    double size = 0.0;
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  Candidate best_candidate() const {
    Candidate best;
    for (Index j = 0; j < p_; ++j) {
      const double size = options_.positive ? c_[at(j)] : std::abs(c_[at(j)]);
      if (state_[at(j)] == Inactive && size > std::abs(best.size))
        best = {j, c_[at(j)]};
    }
    return best;
  }

  // Another column whose correlation has reached C.
  Index find_tied() const {
    const Candidate best = best_candidate();
    return best.column >= 0 && std::abs(best.size) >= max_correlation_ - 16.0 * rounding_bound_ ? best.column : -1;
  }

  // Activates column j; false where it is collinear with the active ones.
  bool activate(Index j) {
    const std::vector<double> &row = rows_[at(gram_row_index_[at(j)])];
    products_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      products_[k] = row[at(active_[k])];
    const double least = options_.collinear_tol * squares_[at(j)];
    if (!(factor_.append(products_, row[at(j)], least) > least)) {
      state_[at(j)] = Collinear;
      return false;
    }
    state_[at(j)] = Active;
    active_.push_back(j);
    signs_.push_back(c_[at(j)] < 0.0 ? -1.0 : 1.0);
    return true;
  }

  void step() {
    compute_direction();
    double length = max_correlation_ - options_.lower_end;
    next_ = -1;
    for (Index j = 0; j < p_; ++j) {
      if (state_[at(j)] != Inactive)
        continue;
      const double g = correlation_slopes_[at(j)], c = c_[at(j)];
      if (1.0 - g > parallel_tol)
        shorten_step(length, (max_correlation_ - c) / (1.0 - g), j);
      if (!options_.positive && 1.0 + g > parallel_tol)
        shorten_step(length, (max_correlation_ + c) / (1.0 + g), j);
    }
    Index dropped = options_.lasso ? find_first_zero(length) : -1;
    if (max_correlation_ - length <=
        options_.lower_end + rounding_bound_) { // an event this close to the end is rounding
      length = max_correlation_ - options_.lower_end;
      dropped = -1;
    }
    move(length);
    ++steps_;
    if (dropped >= 0) {
      drop(dropped, length);
      next_ = -1;
    }
    record();
    update_rounding_bound();
    complete_ = max_correlation_ <= options_.lower_end + rounding_bound_;
  }

  // Bound on the rounding error of the correlations of inactive columns.
  void update_rounding_bound() {
    double longest = 0.0;
    for (std::size_t j = 0; j < c_.size(); ++j)
      if (state_[j] == Inactive)
        longest = std::max(longest, squares_[j]);
    rounding_bound_ = 64.0 * std::numeric_limits<double>::epsilon() * target_ * std::sqrt(longest);
  }

  void shorten_step(double &length, double limit, Index j) {
    if (limit < length) {
      length = std::max(limit, 0.0);
      next_ = j;
    }
  }

  static constexpr double parallel_tol = 1e-12; // relative rate below which a correlation never reaches C

  // Computes d, u and the rates g of all correlations.
  void compute_direction() {
    direction_ = signs_;
    factor_.solve(direction_);
    least_squares_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      least_squares_[k] = xty_[at(active_[k])];
    factor_.solve(least_squares_);
    combine(direction_, correlation_slopes_);
  }

  // out = sum over the active columns of coefficient times Gram row, four rows at a time.
  void combine(const std::vector<double> &coefficients, std::vector<double> &out) const {
    std::fill(out.begin(), out.end(), 0.0);
    std::size_t k = 0;
    for (; k + 4 <= active_.size(); k += 4) {
      const double *a = gram_row(k), *b = gram_row(k + 1), *c = gram_row(k + 2), *d = gram_row(k + 3);
      const double x = coefficients[k], y = coefficients[k + 1], z = coefficients[k + 2], w = coefficients[k + 3];
      double *o = out.data();
      for (Index j = 0; j < p_; ++j)
        o[j] += x * a[j] + y * b[j] + z * c[j] + w * d[j];
    }
    for (; k < active_.size(); ++k) {
      const double *a = gram_row(k);
      for (Index j = 0; j < p_; ++j)
        out[at(j)] += coefficients[k] * a[j];
    }
  }

  const double *gram_row(std::size_t k) const { return rows_[at(gram_row_index_[at(active_[k])])].data(); }

  // The active column whose weight is the first to reach zero within `length`, which is shortened to there.
  Index find_first_zero(double &length) const {
    Index dropped = -1;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const double d = direction_[k], w = least_squares_[k] - max_correlation_ * d;
      // a weight that grows with the sign of its correlation cannot reach zero; a tie may start in the wrong direction
      if (d * signs_[k] >= 0.0)
        continue;
      const double limit = std::max(w * signs_[k], 0.0) / -(d * signs_[k]);
      if (limit < length) {
        length = limit;
        dropped = static_cast<Index>(k);
      }
    }
    return dropped;
  }

  void move(double length) {
    max_correlation_ = std::max(max_correlation_ - length, options_.lower_end);
    if (length > rounding_bound_)
      for (char &state : state_)
        if (state == Tied)
          state = Inactive;
    weights_of_active_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      weights_of_active_[k] = least_squares_[k] - max_correlation_ * direction_[k];
    if (steps_ % refresh_interval == refresh_interval - 1) {
      combine(weights_of_active_, correlation_slopes_);
      for (std::size_t j = 0; j < c_.size(); ++j)
        c_[j] = xty_[j] - correlation_slopes_[j];
    } else {
      for (std::size_t j = 0; j < c_.size(); ++j)
        c_[j] -= length * correlation_slopes_[j];
    }
    for (std::size_t k = 0; k < active_.size(); ++k)
      c_[at(active_[k])] = signs_[k] * max_correlation_;
  }

  static constexpr Index refresh_interval = 16; // steps between recomputations of the correlations

  void drop(Index place, double length) {
    const std::size_t k = at(place);
    state_[at(active_[k])] = length > rounding_bound_ ? Inactive : Tied;
    for (char &state : state_)
      if (state == Collinear)
        state = Inactive;
    factor_.remove(place);
    active_.erase(active_.begin() + place);
    signs_.erase(signs_.begin() + place);
    weights_of_active_.erase(weights_of_active_.begin() + place);
  }

  void record() {
    max_correlations_.push_back(max_correlation_);
    const std::size_t begin = weights_.size();
    weights_.resize(begin + c_.size(), 0.0);
    for (std::size_t k = 0; k < weights_of_active_.size(); ++k)
      weights_[begin + at(active_[k])] = weights_of_active_[k];
  }

  LarsOptions options_;
  Index p_;
  std::vector<double> xty_, c_, squares_;
  double target_;
  std::vector<char> state_;
  std::vector<Index> gram_row_index_;
  std::vector<double> correlation_slopes_;
  Cholesky factor_;
  std::vector<std::vector<double>> rows_;
  std::vector<Index> active_;
  std::vector<double> signs_, direction_, least_squares_, products_, weights_of_active_;
  std::vector<double> max_correlations_, weights_;
  double max_correlation_ = 0.0, rounding_bound_ = 0.0;
  Index next_ = -1, steps_ = 0;
  bool complete_ = false;
};

} // namespace tenfold
