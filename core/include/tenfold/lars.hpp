// Least angle regression and the path of the Lasso (Efron, Hastie, Johnstone and Tibshirani 2004) on products of
// columns.
//
// Given c = X'y (p) and the squares of the columns (p) and of y; rows of X'X are asked for when a column joins. At
// every knot the active columns A have correlations x_j.r = s_j C of one size C, all others at most C, and
//   w_A(C) = u - C d,   u = (X_A'X_A)^-1 c_A,   d = (X_A'X_A)^-1 s_A,   x_j.r falls by g_j = x_j.X_A d a unit of C.
// C falls until another column reaches it and joins, or (Lasso) a weight reaches zero and leaves. Ties join in steps of
// length zero; a column that depends on the active ones waits until one of them has left; one that left in a step of
// length zero waits for a longer one. Weights come from u and d, not from sums over the steps, and correlations are
// computed anew every few steps, so that rounding does not add up.
//
// advance() walks until it is done (-1) or a row of X'X is missing (its number): give it, and call again.
// Flops: 2 k p + 3 k^2 a step, k active columns; memory: the rows of all columns that ever joined.
#pragma once

#include "tenfold/cholesky_update.hpp"
#include "tenfold/poll.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct LarsRules {
  bool lasso = false;    // weights that reach zero leave
  bool positive = false; // only positive correlations join
  double end = 0.0;      // C at which the path ends
  Index most_steps = 0;
  double dependent = 0.0; // a column of whose square no more than this share is left depends on the others
};

class Lars {
public:
  Lars(std::span<const double> c, std::span<const double> squares, double target_square, const LarsRules &rules)
      : rules_(rules), p_(static_cast<Index>(c.size())), start_(c.begin(), c.end()), c_(start_),
        squares_(squares.begin(), squares.end()), target_(std::sqrt(target_square)), state_(c.size(), Free),
        slot_(c.size(), -1), falls_(c.size()) {
    for (std::size_t j = 0; j < c.size(); ++j)
      if (!(squares_[j] > 0.0))
        state_[j] = Never;
    const Candidate first = largest();
    next_ = first.column;
    size_ = std::abs(first.size);
    look_at_noise();
    done_ = next_ < 0 || size_ <= rules_.end + noise_;
    if (size_ < rules_.end)
      size_ = rules_.end;
    record();
  }

  Index advance() {
    while (!done_ && steps_ < rules_.most_steps) {
      poll();
      if (next_ >= 0 && slot_[at(next_)] < 0)
        return next_;
      if (next_ >= 0 && !join(next_)) {
        next_ = tied();
        if (next_ >= 0)
          continue;
      }
      if (active_.empty())
        break;
      step();
    }
    done_ = true;
    return -1;
  }

  void give(Index column, std::span<const double> row) {
    slot_[at(column)] = static_cast<Index>(rows_.size());
    rows_.emplace_back(row.begin(), row.end());
  }

  std::span<const double> correlations() const { return c_; }
  const std::vector<double> &sizes() const { return sizes_; }
  const std::vector<Index> &active() const { return active_; }
  const std::vector<double> &weights() const { return weights_; } // of each knot, p of them

private:
  enum State : char { Free, Active, Waits, Rests, Never };
  struct Candidate {
    Index column = -1;
    double size = 0.0;
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  Candidate largest() const {
    Candidate best;
    for (Index j = 0; j < p_; ++j) {
      const double size = rules_.positive ? c_[at(j)] : std::abs(c_[at(j)]);
      if (state_[at(j)] == Free && size > std::abs(best.size))
        best = {j, c_[at(j)]};
    }
    return best;
  }

  // Another column that has reached C.
  Index tied() const {
    const Candidate best = largest();
    return best.column >= 0 && std::abs(best.size) >= size_ - 16.0 * noise_ ? best.column : -1;
  }

  // Whether column j could join: one that depends on the active ones waits.
  bool join(Index j) {
    const std::vector<double> &row = rows_[at(slot_[at(j)])];
    products_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      products_[k] = row[at(active_[k])];
    const double least = rules_.dependent * squares_[at(j)];
    if (!(factor_.append(products_, row[at(j)], least) > least)) {
      state_[at(j)] = Waits;
      return false;
    }
    state_[at(j)] = Active;
    active_.push_back(j);
    signs_.push_back(c_[at(j)] < 0.0 ? -1.0 : 1.0);
    return true;
  }

  void step() {
    direction();
    double length = size_ - rules_.end;
    next_ = -1;
    for (Index j = 0; j < p_; ++j) {
      if (state_[at(j)] != Free)
        continue;
      const double g = falls_[at(j)], c = c_[at(j)];
      if (1.0 - g > flat)
        shorten(length, (size_ - c) / (1.0 - g), j);
      if (!rules_.positive && 1.0 + g > flat)
        shorten(length, (size_ + c) / (1.0 + g), j);
    }
    Index leaves = rules_.lasso ? first_to_leave(length) : -1;
    if (size_ - length <= rules_.end + noise_) { // what would happen before the end is rounding
      length = size_ - rules_.end;
      leaves = -1;
    }
    move(length);
    ++steps_;
    if (leaves >= 0) {
      leave(leaves, length);
      next_ = -1;
    }
    record();
    look_at_noise();
    done_ = size_ <= rules_.end + noise_;
  }

  // What rounding can make of the correlation of a column that is still to join.
  void look_at_noise() {
    double longest = 0.0;
    for (std::size_t j = 0; j < c_.size(); ++j)
      if (state_[j] == Free)
        longest = std::max(longest, squares_[j]);
    noise_ = 64.0 * std::numeric_limits<double>::epsilon() * target_ * std::sqrt(longest);
  }

  void shorten(double &length, double until, Index j) {
    if (until < length) {
      length = std::max(until, 0.0);
      next_ = j;
    }
  }

  static constexpr double flat = 1e-12; // a correlation that falls as fast as C never reaches it

  // d, and how fast all correlations fall.
  void direction() {
    direction_ = signs_;
    factor_.solve(direction_);
    base_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      base_[k] = start_[at(active_[k])];
    factor_.solve(base_);
    combine(direction_, falls_);
  }

  // out = sum over the active columns of coefficient times row, four rows at a time.
  void combine(const std::vector<double> &coefficients, std::vector<double> &out) const {
    std::fill(out.begin(), out.end(), 0.0);
    std::size_t k = 0;
    for (; k + 4 <= active_.size(); k += 4) {
      const double *a = row_of(k), *b = row_of(k + 1), *c = row_of(k + 2), *d = row_of(k + 3);
      const double x = coefficients[k], y = coefficients[k + 1], z = coefficients[k + 2], w = coefficients[k + 3];
      double *o = out.data();
      for (Index j = 0; j < p_; ++j)
        o[j] += x * a[j] + y * b[j] + z * c[j] + w * d[j];
    }
    for (; k < active_.size(); ++k) {
      const double *a = row_of(k);
      for (Index j = 0; j < p_; ++j)
        out[at(j)] += coefficients[k] * a[j];
    }
  }

  const double *row_of(std::size_t k) const { return rows_[at(slot_[at(active_[k])])].data(); }

  // The active column whose weight is the first to reach zero before C has fallen by `length`, which is shortened.
  Index first_to_leave(double &length) const {
    Index leaves = -1;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const double d = direction_[k], w = base_[k] - size_ * d;
      // with the sign of its correlation a weight cannot go through zero; a tie may send it the wrong way at once
      if (d * signs_[k] >= 0.0)
        continue;
      const double until = std::max(w * signs_[k], 0.0) / -(d * signs_[k]);
      if (until < length) {
        length = until;
        leaves = static_cast<Index>(k);
      }
    }
    return leaves;
  }

  void move(double length) {
    size_ = std::max(size_ - length, rules_.end);
    if (length > noise_)
      for (char &state : state_)
        if (state == Rests)
          state = Free;
    weights_of_active_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k)
      weights_of_active_[k] = base_[k] - size_ * direction_[k];
    if (steps_ % refresh == refresh - 1) {
      combine(weights_of_active_, falls_);
      for (std::size_t j = 0; j < c_.size(); ++j)
        c_[j] = start_[j] - falls_[j];
    } else {
      for (std::size_t j = 0; j < c_.size(); ++j)
        c_[j] -= length * falls_[j];
    }
    for (std::size_t k = 0; k < active_.size(); ++k)
      c_[at(active_[k])] = signs_[k] * size_;
  }

  static constexpr Index refresh = 16;

  void leave(Index place, double length) {
    const std::size_t k = at(place);
    state_[at(active_[k])] = length > noise_ ? Free : Rests;
    for (char &state : state_)
      if (state == Waits)
        state = Free;
    factor_.remove(place);
    active_.erase(active_.begin() + place);
    signs_.erase(signs_.begin() + place);
    weights_of_active_.erase(weights_of_active_.begin() + place);
  }

  void record() {
    sizes_.push_back(size_);
    const std::size_t begin = weights_.size();
    weights_.resize(begin + c_.size(), 0.0);
    for (std::size_t k = 0; k < weights_of_active_.size(); ++k)
      weights_[begin + at(active_[k])] = weights_of_active_[k];
  }

  LarsRules rules_;
  Index p_;
  std::vector<double> start_, c_, squares_;
  double target_;
  std::vector<char> state_;
  std::vector<Index> slot_;
  std::vector<double> falls_;
  Cholesky factor_;
  std::vector<std::vector<double>> rows_;
  std::vector<Index> active_;
  std::vector<double> signs_, direction_, base_, products_, weights_of_active_;
  std::vector<double> sizes_, weights_;
  double size_ = 0.0, noise_ = 0.0;
  Index next_ = -1, steps_ = 0;
  bool done_ = false;
};

} // namespace tenfold
