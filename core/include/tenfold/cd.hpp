// Coordinate descent for the square loss with an L1 penalty, or one on groups, and a ridge beside it.
//
// For columns x_j (j < p) and t targets y, minimises over weights W (t x p, target by target)
//   F(W) = 1/2 |y - X W'|^2 + l1 sum_j u_j |W_j| + l2 / 2 sum_j u_j^2 |W_j|^2,
// |W_j| the Euclidean length of the t weights of column j and u_j its unit; W_j >= 0 where `positive` (t = 1). All sums
// are over rows, already weighted and centred.
//
// Given: a storage of the columns, weights to start from, and the gap at which to stop. A storage knows
//   columns, targets                how many there are
//   square(j)                       |x_j|^2
//   pull(j, out)                    out_k = x_j.r_k, r the residuals at the present weights
//   move(j, change)                 W_j += change: what the pulls then are
//   reset(W)                        the same from scratch
//   squares(W)                      |r|^2
//   product(i, j)                   x_i.x_j
//   pull_work(j), move_work(j)      what these cost for one target, in products of long vectors
//   product_work()                  the same of one product, about
// Returned: the weights, the gap (F minus the dual value at the residuals, scaled until they are feasible) and how many
// sweeps were taken.
//
// Sweeps find which weights are not zero; as soon as they have cost as much as the exact step among these would
// (descent_exact.hpp), that is taken, as far as the objective falls, and once more at the end, so that weights are
// right to rounding and not only to the root of the gap. Until then, every `memory` sweeps the iterates are
// extrapolated (Anderson 1965; Bertrand and Massias 2021), which is kept where the objective falls; where it does not,
// the best place on the line of the last step is taken. The residuals of extrapolated weights are extrapolated
// residuals (Massias, Gramfort and Salmon 2018): the best dual value of all is kept, and where it proves that the
// weights are good enough, the exact step is taken at once, for then the residuals themselves prove it to anybody.
#pragma once

#include "tenfold/cd_newton_step.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// Which column comes next: one after the other, or any, by a small generator (splitmix64).
class Order {
public:
  Order() = default;
  explicit Order(std::uint64_t seed) : state_(seed), random_(true) {}

  bool random() const { return random_; }

  Index next(Index i, Index count) {
    if (!random_)
      return i;
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<Index>((z ^ (z >> 31)) % static_cast<std::uint64_t>(count));
  }

private:
  std::uint64_t state_ = 0;
  bool random_ = false;
};

struct Descended {
  double gap = std::numeric_limits<double>::infinity();
  Index sweeps = 0;
  bool stalled = false; // no weight moves at all
  bool slow = false;    // sweeps cost more than an exact step
};

template <class Storage> class Descent {
public:
  // `weights` (targets x columns) is where it starts and ends; `unit` has one entry a column.
  Descent(Storage &storage, SupportStep &step, std::span<const double> unit, std::span<double> weights)
      : storage_(storage), unit_(unit), weights_(weights), pull_(static_cast<std::size_t>(storage.targets())),
        change_(pull_.size()), past_((memory + 2) * weights.size()), exact_(storage, step, unit, weights) {}

  // Until the gap is at most `enough`. `total` is |y|^2, `most` the largest number of sweeps; `exact` says to begin
  // with an exact step.
  Descended run(const ElasticNet &penalty, double enough, double total, Index most, bool exact, Order &order) {
    Descended state;
    remembered_ = 0;
    dual_ = -std::numeric_limits<double>::infinity();
    bool proved = false;             // by the dual values of other residuals that the weights are good enough
    double spent = 0.0, since = 0.0; // on sweeps, and on those since the last exact step
    // how often a step must be earned; those that do not get to their ends twice as often
    const double once = storage_.targets() > 1 ? 2.0 : 1.0;
    double patience = once;
    const double still = 4.0 * std::numeric_limits<double>::epsilon() * std::sqrt(total);
    if (exact)
      exact_.take(penalty, total);
    while (state.sweeps < most) {
      poll();
      Moved moved = sweep(penalty, order);
      ++state.sweeps;
      if (moved.fit <= still && order.random() && state.sweeps < most) {
        Order in_turn; // columns at random may have missed the one that would move
        moved = sweep(penalty, in_turn);
        ++state.sweeps;
      }
      spent += moved.work;
      since += moved.work;
      state.stalled = moved.fit <= still;
      const Bounds now = bounds(penalty);
      state.gap = now.gap;
      const bool done = state.stalled || state.gap <= enough;
      const bool first = !proved && now.primal - dual_ <= enough;
      proved |= first;
      const double price = exact_.price(penalty);
      state.slow = spent > price;
      if (done ? price <= std::max(0.2 * spent, little)
               : state.sweeps > 1 && ((first && price <= spent) || since >= patience * price)) {
        // one step is exact for one target; for several it doubles the digits
        for (int step = 0; step < (done && storage_.targets() > 1 ? 3 : 1); ++step)
          patience = exact_.take(penalty, total) ? once : 2.0 * patience;
        since = 0.0;
        remembered_ = 0;
      } else if (!done) {
        extrapolate(penalty);
      }
      if (done)
        break;
    }
    return state;
  }

  // The largest dual value that the last run has met: a lower bound on the objective at all weights.
  double dual() const { return dual_; }

private:
  static constexpr std::size_t memory = 5;
  static constexpr double little = 1e6; // products that need not be earned

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // The objective at the weights and the gap at their residuals, whose dual value counts among those of this run.
  struct Bounds {
    double primal = 0.0, gap = 0.0;
  };

  Bounds bounds(const ElasticNet &penalty) {
    Gap sum(penalty);
    const Index p = storage_.columns();
    for (Index j = 0; j < p; ++j) {
      storage_.pull(j, pull_.data());
      sum.add(pull_.data(), 1, weights_.data() + j, p, storage_.targets(), storage_.square(j), unit_[at(j)]);
    }
    const double squares = storage_.squares(weights_);
    dual_ = std::max(dual_, sum.dual(squares));
    return {sum.primal(squares), sum.value(squares)};
  }

  // The largest change of a fit, |change| |x_j|, and the products that it took.
  struct Moved {
    double fit = 0.0, work = 0.0;
  };

  // Every column once, or as many columns at random.
  Moved sweep(const ElasticNet &penalty, Order &order) {
    const Index p = storage_.columns(), t = storage_.targets();
    Moved moved;
    for (Index i = 0; i < p; ++i) {
      const Index j = order.next(i, p);
      const double square = storage_.square(j), unit = unit_[at(j)];
      const double curvature = square + penalty.l2 * unit * unit;
      storage_.pull(j, pull_.data());
      moved.work += static_cast<double>(t) * storage_.pull_work(j);
      double length = 0.0;
      for (Index k = 0; k < t; ++k) {
        pull_[at(k)] += square * weights_[at(k * p + j)];
        length += pull_[at(k)] * pull_[at(k)];
      }
      length = t == 1 ? std::abs(pull_[0]) : std::sqrt(length);
      const bool zero = length <= penalty.l1 * unit || curvature <= 0.0 || (penalty.positive && pull_[0] <= 0.0);
      const double factor = zero ? 0.0 : (1.0 - penalty.l1 * unit / length) / curvature;
      double change = 0.0;
      for (Index k = 0; k < t; ++k) {
        double &w = weights_[at(k * p + j)];
        const double next = factor * pull_[at(k)];
        change_[at(k)] = next - w;
        change += change_[at(k)] * change_[at(k)];
        w = next;
      }
      if (change > 0.0) {
        storage_.move(j, change_.data());
        moved.work += static_cast<double>(t) * storage_.move_work(j);
        moved.fit = std::max(moved.fit, std::sqrt(change * square));
      }
    }
    return moved;
  }

  std::span<double> past(std::size_t i) { return std::span(past_).subspan(i * weights_.size(), weights_.size()); }

  // Remembers the weights; when enough are remembered, tries the combination of them whose steps cancel best.
  void extrapolate(const ElasticNet &penalty) {
    std::copy(weights_.begin(), weights_.end(), past(remembered_++).begin());
    if (remembered_ <= memory)
      return;
    remembered_ = 0;
    const std::span<double> mixed = past(memory + 1);
    const double before = objective(storage_, penalty, unit_, weights_);
    if (combine(mixed)) {
      if (penalty.positive)
        for (double &w : mixed)
          w = std::max(w, 0.0);
      if (adopt(mixed, penalty, before))
        return;
    }
    if (storage_.targets() == 1 && leap(penalty, mixed))
      adopt(mixed, penalty, before);
  }

  // Takes other weights, unless the objective there is not below `before`.
  bool adopt(std::span<const double> other, const ElasticNet &penalty, double before) {
    std::copy(other.begin(), other.end(), weights_.begin());
    storage_.reset(weights_);
    if (bounds(penalty).primal < before)
      return true;
    std::copy(past(memory).begin(), past(memory).end(), weights_.begin());
    storage_.reset(weights_);
    return false;
  }

  // Along the last sweep's change to where the objective is least on that line: columns that depend on each other
  // change by equal steps, sweep for sweep, until one of their weights is zero. One target.
  bool leap(const ElasticNet &penalty, std::span<double> other) {
    const std::span<const double> before = past(memory - 1), now = past(memory);
    const std::size_t p = weights_.size();
    double slope = 0.0, bend = 0.0;
    line_.clear();
    const auto pulled = [&](std::size_t j) {
      storage_.pull(static_cast<Index>(j), pull_.data());
      return pull_[0];
    };
    for (std::size_t j = 0; j < p; ++j)
      if (const double d = now[j] - before[j]; d != 0.0) {
        const double unit = unit_[j], q = pulled(j);
        slope += -q * d + penalty.l2 * unit * unit * now[j] * d;
        slope += penalty.l1 * unit * (now[j] != 0.0 ? std::copysign(1.0, now[j]) * d : std::abs(d));
        bend += q * d + penalty.l2 * unit * unit * d * d;
        if (now[j] * d < 0.0)
          line_.add(-now[j] / d, 2.0 * penalty.l1 * unit * std::abs(d));
      }
    if (!(slope < 0.0))
      return false;
    for (std::size_t j = 0; j < p; ++j)
      other[j] = 2.0 * now[j] - before[j];
    storage_.reset(other);
    for (std::size_t j = 0; j < p; ++j)
      if (const double d = now[j] - before[j]; d != 0.0)
        bend -= pulled(j) * d;
    storage_.reset(weights_);
    const double step = line_.least(slope, bend, penalty.positive);
    for (std::size_t j = 0; j < p; ++j) {
      other[j] = now[j] + step * (now[j] - before[j]);
      if (penalty.positive)
        other[j] = std::max(other[j], 0.0);
    }
    return step > 0.0;
  }

  // sum_i a_i past_{i + 1} with a = z / sum z, (U U' + small) z = 1, U the differences of successive weights.
  bool combine(std::span<double> mixed) {
    double system[memory][memory + 1];
    const std::size_t size = weights_.size();
    for (std::size_t i = 0; i < memory; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        const std::span<const double> a = past(i), b = past(i + 1), c = past(k), d = past(k + 1);
        double sum = 0.0;
        for (std::size_t j = 0; j < size; ++j)
          sum += (b[j] - a[j]) * (d[j] - c[j]);
        system[i][k] = system[k][i] = sum;
      }
    double trace = 0.0;
    for (std::size_t i = 0; i < memory; ++i)
      trace += system[i][i];
    if (!(trace > 0.0))
      return false;
    for (std::size_t i = 0; i < memory; ++i) {
      system[i][i] += 1e-12 * trace;
      system[i][memory] = 1.0;
    }
    // Elimination of a positive definite matrix needs no pivots.
    for (std::size_t i = 0; i < memory; ++i)
      for (std::size_t k = i + 1; k < memory; ++k) {
        const double factor = system[k][i] / system[i][i];
        for (std::size_t j = i; j <= memory; ++j)
          system[k][j] -= factor * system[i][j];
      }
    double total = 0.0;
    for (std::size_t i = memory; i-- > 0;) {
      for (std::size_t k = i + 1; k < memory; ++k)
        system[i][memory] -= system[i][k] * system[k][memory];
      system[i][memory] /= system[i][i];
      total += system[i][memory];
    }
    if (!std::isfinite(total) || total == 0.0)
      return false;
    std::fill(mixed.begin(), mixed.end(), 0.0);
    for (std::size_t i = 0; i < memory; ++i) {
      const double share = system[i][memory] / total;
      const std::span<const double> one = past(i + 1);
      for (std::size_t j = 0; j < size; ++j)
        mixed[j] += share * one[j];
    }
    return true;
  }

  Storage &storage_;
  std::span<const double> unit_;
  std::span<double> weights_;
  std::vector<double> pull_, change_;
  std::vector<double> past_; // memory + 1 weights, and a combination of them
  ExactStep<Storage> exact_;
  KinkedLine line_;
  std::size_t remembered_ = 0;
  double dual_ = 0.0;
};

} // namespace tenfold
