// The Lasso with one Gram matrix A (k, k) and many right-hand sides c, exactly up to rounding:
//   minimise (1/2) w'Aw - c'w + alpha |w|_1, over all w or over w >= 0; non-negative least squares for alpha = 0.
//
// sweep      coordinate descent from w, with correlations g = c - A w of all coordinates kept: 2 k flops a move.
// solve      an active set method (Osborne, Presnell and Turlach 2000; Lawson and Hanson 1974) from w: the weights that
//            are not zero take a Newton step for their signs, up to the first that would change its sign, which is
//            fixed at zero; where the step is complete, the coordinate that exceeds the penalty most enters. One that
//            depends on the others moves along with them, A w as it is, until one of them is zero and leaves.
// Flops: 2 k m a step with m weights that are not zero, and 3 m^2 for the factor of their Gram matrix.
#pragma once

#include "tenfold/cholesky_update.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct LassoOptions {
  double alpha = 0.0;
  bool positive = false;
};

// One problem at a time; the buffers serve the next.
class LassoRow {
public:
  LassoRow(std::span<const double> A, Index k, const LassoOptions &options)
      : A_(A), k_(k), options_(options), correlation_(at(k)), place_(at(k)) {}

  void sweep(const double *c, double *w, Index sweeps, double fraction) {
    correlate(c, w);
    double first = 0.0;
    for (Index number = 0; number < sweeps; ++number) {
      double moves = 0.0;
      for (Index j = 0; j < k_; ++j) {
        const double square = entry(j, j), old = w[j];
        if (!(square > 0.0) || (old == 0.0 && excess(j) <= 0.0))
          continue;
        const double move = shrink(correlation_[at(j)] + square * old) / square - old;
        if (move == 0.0)
          continue;
        w[j] += move;
        moves += square * move * move;
        kernels().dense<double>().axpy(-move, row(j), k_, correlation_.data());
      }
      first = number == 0 ? moves : first;
      if (moves <= fraction * fraction * first)
        return;
    }
  }

  void solve(const double *c, double *w) {
    begin(w);
    Index entered = -1;
    for (Index steps = 0; steps < 10 * k_ + 50; ++steps) {
      correlate(c, w);
      if (!newton(w))
        continue;
      correlate(c, w);
      const Index j = most_excessive(c);
      // a coordinate that has entered and does not move exceeds the penalty by rounding
      if (j < 0 || (j == entered && w[j] == 0.0))
        return;
      entered = j;
      if (!enter(j, correlation_[at(j)] < 0.0 ? -1.0 : 1.0, w))
        return;
    }
  }

private:
  static constexpr double dependent = 1e-13; // relative squared norm outside the span of the others that is rounding

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  const double *row(Index j) const { return A_.data() + j * k_; }
  double entry(Index i, Index j) const { return A_.data()[i * k_ + j]; }
  double excess(Index j) const {
    return (options_.positive ? correlation_[at(j)] : std::abs(correlation_[at(j)])) - options_.alpha;
  }
  double shrink(double z) const {
    if (options_.positive)
      return std::max(z - options_.alpha, 0.0);
    return std::copysign(std::max(std::abs(z) - options_.alpha, 0.0), z);
  }

  // correlation = c - A w, and a bound of the sizes of the terms of its entries in units of the norms of A.
  void correlate(const double *c, const double *w) {
    std::copy_n(c, k_, correlation_.begin());
    size_ = 0.0;
    for (Index j = 0; j < k_; ++j)
      if (w[j] != 0.0) {
        kernels().dense<double>().axpy(-w[j], row(j), k_, correlation_.data());
        size_ += std::abs(w[j]) * std::sqrt(entry(j, j));
      }
  }

  void begin(double *w) {
    while (!active_.empty())
      leave(static_cast<Index>(active_.size()) - 1);
    std::fill(place_.begin(), place_.end(), char{0});
    for (Index j = 0; j < k_; ++j)
      if (w[j] != 0.0) {
        if (options_.positive && w[j] < 0.0)
          w[j] = 0.0;
        else
          enter(j, w[j] < 0.0 ? -1.0 : 1.0, w);
      }
  }

  // Appends coordinate j to the active ones; false where nothing could make room for one that depends on them.
  bool enter(Index j, double sign, double *w) {
    for (std::size_t tries = active_.size() + 1; tries > 0; --tries) {
      products_.resize(active_.size());
      for (std::size_t i = 0; i < active_.size(); ++i)
        products_[i] = entry(j, active_[i]);
      const double least = dependent * entry(j, j);
      if (factor_.append(products_, entry(j, j), least) > least) {
        active_.push_back(j);
        signs_.push_back(sign);
        place_[at(j)] = 1;
        return true;
      }
      if (!make_room(j, sign, w))
        return false;
      if (w[j] == 0.0 && place_[at(j)] == 2) { // it has left itself
        place_[at(j)] = 0;
        return true;
      }
    }
    return false;
  }

  // Moves along the dependence of j on the active coordinates, by which |w|_1 does not grow, to the first zero.
  bool make_room(Index j, double sign, double *w) {
    factor_.solve(products_);
    double slope = sign;
    for (std::size_t i = 0; i < active_.size(); ++i)
      slope -= signs_[i] * products_[i];
    // with the sign of w_j or against it
    const double direction = w[j] == 0.0 || slope * sign < 0.0 ? sign : -sign;
    double length = HUGE_VAL;
    Index first = -1;
    if (direction * sign < 0.0) {
      length = std::abs(w[j]);
      first = j;
    }
    std::size_t where = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const double rate = direction * products_[i]; // w_i decreases by it
      const double weight = w[active_[i]];
      if (rate * signs_[i] > 0.0 && weight / rate < length) {
        length = std::max(weight / rate, 0.0);
        first = active_[i];
        where = i;
      }
    }
    if (first < 0)
      return false;
    for (std::size_t i = 0; i < active_.size(); ++i)
      w[active_[i]] -= direction * length * products_[i];
    w[j] += direction * length;
    w[first] = 0.0;
    if (first == j)
      place_[at(j)] = 2;
    else
      leave(static_cast<Index>(where));
    return true;
  }

  void leave(Index where) {
    place_[at(active_[at(where)])] = 0;
    factor_.remove(where);
    active_.erase(active_.begin() + where);
    signs_.erase(signs_.begin() + where);
  }

  // A Newton step of the active weights, up to the first zero; whether it was complete.
  bool newton(double *w) {
    step_.resize(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i)
      step_[i] = correlation_[at(active_[i])] - options_.alpha * signs_[i];
    factor_.solve(step_);
    double length = 1.0;
    Index first = -1;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const double inward = -step_[i] * signs_[i], weight = w[active_[i]] * signs_[i];
      if (inward > 0.0 && weight < length * inward) {
        length = weight / inward;
        first = static_cast<Index>(i);
      }
    }
    for (std::size_t i = 0; i < active_.size(); ++i)
      w[active_[i]] += length * step_[i];
    if (first >= 0) {
      w[active_[at(first)]] = 0.0;
      leave(first);
    }
    for (Index i = static_cast<Index>(active_.size()) - 1; i >= 0; --i)
      if (!(w[active_[at(i)]] * signs_[at(i)] > 0.0)) {
        w[active_[at(i)]] = 0.0;
        leave(i);
      }
    return first < 0;
  }

  // The coordinate outside the active ones that exceeds the penalty most, by more than rounding.
  Index most_excessive(const double *c) const {
    constexpr double unit = std::numeric_limits<double>::epsilon();
    const double terms = 4.0 * static_cast<double>(active_.size() + 4) * unit;
    Index best = -1;
    double most = 0.0;
    for (Index j = 0; j < k_; ++j) {
      if (place_[at(j)] != 0 || !(entry(j, j) > 0.0))
        continue;
      const double beyond = excess(j) - terms * (std::abs(c[j]) + std::sqrt(entry(j, j)) * size_);
      if (beyond > most) {
        most = beyond;
        best = j;
      }
    }
    return best;
  }

  std::span<const double> A_;
  Index k_;
  LassoOptions options_;
  std::vector<double> correlation_;
  std::vector<char> place_; // 1: active; 2: it has left while it entered
  double size_ = 0.0;
  Cholesky factor_;
  std::vector<Index> active_;
  std::vector<double> signs_, products_, step_;
};

} // namespace tenfold
