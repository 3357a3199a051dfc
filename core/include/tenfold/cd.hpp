// Coordinate descent for least squares with an L1, group (multi-target) or elastic-net penalty.
//
// For columns x_j (j < p) and t targets y, minimises over weights W (t x p, target by target)
//   F(W) = 1/2 |y - X W'|^2 + l1 sum_j u_j |W_j| + l2 / 2 sum_j u_j^2 |W_j|^2,
// |W_j| the Euclidean norm of the t weights of column j and u_j its unit; W_j >= 0 where `positive` (t = 1). Sums are
// over samples, already weighted and centred.
//
// Given: a storage of the columns, a warm start, and the gap at which to stop. A storage provides
//   columns, targets                          their numbers
//   square(j)                                 |x_j|^2
//   correlation(j, out)                       out_k = x_j.r_k, r the residuals at the present weights
//   update(j, change)                         W_j += change, and the correlations or residuals follow
//   reset(W)                                  recomputes them from scratch
//   squares(W)                                |r|^2
//   gram_entry(i, j)                          x_i.x_j
//   correlation_work(j), update_work(j)       cost for one target, in operations on contiguous vectors
//   gram_entry_work()                         approximate cost of one entry
// Returned: the weights, the duality gap (F minus the dual objective at the scaled residuals) and the number of sweeps.
//
// Sweeps identify the support; once they have cost as much as a Newton step on it (cd_newton_step.hpp), that step is
// taken, with a line search, and once more at the end, so that the weights are accurate to rounding and not only to the
// root of the gap. In between, every `memory` sweeps the iterates are extrapolated (Anderson 1965; Bertrand and Massias
// 2021), accepted where the objective decreases; otherwise an exact line search along the last sweep is tried. The
// residuals of extrapolated weights are extrapolated residuals (Massias, Gramfort and Salmon 2018): the best dual value
// is kept, and where it certifies the gap the Newton step is taken at once, after which the residuals themselves
// certify it.
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

// Coordinate order: cyclic, or uniform at random (splitmix64).
class CoordinateOrder {
public:
  CoordinateOrder() = default;
  explicit CoordinateOrder(std::uint64_t seed) : state_(seed), random_(true) {}

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

struct CdResult {
  double gap = std::numeric_limits<double>::infinity();
  Index sweeps = 0;
  bool stalled = false;      // no weight changes beyond rounding
  bool newton_first = false; // sweeps have cost more than a Newton step: begin the next run with one
};

template <class Storage> class CoordinateDescent {
public:
  // `weights` (targets x columns) holds the start and then the solution; `unit` has one entry per column.
  CoordinateDescent(Storage &storage, ActiveSetSolver &step, std::span<const double> unit, std::span<double> weights)
      : storage_(storage), unit_(unit), weights_(weights), correlation_(static_cast<std::size_t>(storage.targets())),
        change_(correlation_.size()), iterates_((anderson_depth + 2) * weights.size()),
        newton_(storage, step, unit, weights) {}

  // Runs until the gap is at most `tol`. `total` is |y|^2; `newton_first`: begin with a
  // Newton step.
  CdResult run(const ElasticNet &penalty, double tol, double total, Index max_sweeps, bool newton_first,
               CoordinateOrder &order) {
    CdResult state;
    stored_ = 0;
    dual_ = -std::numeric_limits<double>::infinity();
    bool certified = false;                     // the best dual value certifies the gap
    double total_work = 0.0, recent_work = 0.0; // work of all sweeps, and of those since the last Newton step
    // sweeps must cost `patience` Newton steps before one is tried; doubled after a truncated step
    const double min_patience = storage_.targets() > 1 ? 2.0 : 1.0;
    double patience = min_patience;
    const double rounding_bound = 4.0 * std::numeric_limits<double>::epsilon() * std::sqrt(total);
    if (newton_first)
      newton_.advance(penalty, total);
    while (state.sweeps < max_sweeps) {
      poll();
      SweepChange swept = sweep(penalty, order);
      ++state.sweeps;
      if (swept.fit <= rounding_bound && order.random() && state.sweeps < max_sweeps) {
        CoordinateOrder in_turn; // random sweeps may have missed a coordinate that would change
        swept = sweep(penalty, in_turn);
        ++state.sweeps;
      }
      total_work += swept.work;
      recent_work += swept.work;
      state.stalled = swept.fit <= rounding_bound;
      const Bounds now = bounds(penalty);
      state.gap = now.gap;
      const bool done = state.stalled || state.gap <= tol;
      const bool first = !certified && now.primal - dual_ <= tol;
      certified |= first;
      const double cost = newton_.cost(penalty);
      state.newton_first = total_work > cost;
      if (done ? cost <= std::max(0.2 * total_work, affordable_work)
               : state.sweeps > 1 && ((first && cost <= total_work) || recent_work >= patience * cost)) {
        // one Newton step is exact for one target; for several it doubles the correct digits
        for (int step = 0; step < (done && storage_.targets() > 1 ? 3 : 1); ++step)
          patience = newton_.advance(penalty, total) ? min_patience : 2.0 * patience;
        recent_work = 0.0;
        stored_ = 0;
      } else if (!done) {
        extrapolate(penalty);
      }
      if (done)
        break;
    }
    return state;
  }

  // The largest dual value of the last run: a lower bound on the minimum of F.
  double dual() const { return dual_; }

private:
  static constexpr std::size_t anderson_depth = 5; // sweeps of an Anderson extrapolation
  static constexpr double affordable_work = 1e6;   // work of a Newton step that is always affordable

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // F at the weights and the duality gap at their residuals, whose dual value is kept when it is the best of the run.
  struct Bounds {
    double primal = 0.0, gap = 0.0;
  };

  Bounds bounds(const ElasticNet &penalty) {
    DualityGap sum(penalty);
    const Index p = storage_.columns();
    for (Index j = 0; j < p; ++j) {
      storage_.correlation(j, correlation_.data());
      sum.add(correlation_.data(), 1, weights_.data() + j, p, storage_.targets(), storage_.square(j), unit_[at(j)]);
    }
    const double squares = storage_.squares(weights_);
    dual_ = std::max(dual_, sum.dual(squares));
    return {sum.primal(squares), sum.value(squares)};
  }

  // The largest change of a fit, |change| |x_j|, and the work done.
  struct SweepChange {
    double fit = 0.0, work = 0.0;
  };

  // One exact coordinate step (soft or group thresholding) for every column, or for as many random ones.
  SweepChange sweep(const ElasticNet &penalty, CoordinateOrder &order) {
    const Index p = storage_.columns(), t = storage_.targets();
    SweepChange swept;
    for (Index i = 0; i < p; ++i) {
      const Index j = order.next(i, p);
      const double square = storage_.square(j), unit = unit_[at(j)];
      const double curvature = square + penalty.l2 * unit * unit;
      storage_.correlation(j, correlation_.data());
      swept.work += static_cast<double>(t) * storage_.correlation_work(j);
      double length = 0.0;
      for (Index k = 0; k < t; ++k) {
        correlation_[at(k)] += square * weights_[at(k * p + j)];
        length += correlation_[at(k)] * correlation_[at(k)];
      }
      length = t == 1 ? std::abs(correlation_[0]) : std::sqrt(length);
      const bool zero = length <= penalty.l1 * unit || curvature <= 0.0 || (penalty.positive && correlation_[0] <= 0.0);
      const double factor = zero ? 0.0 : (1.0 - penalty.l1 * unit / length) / curvature;
      double change = 0.0;
      for (Index k = 0; k < t; ++k) {
        double &w = weights_[at(k * p + j)];
        const double next = factor * correlation_[at(k)];
        change_[at(k)] = next - w;
        change += change_[at(k)] * change_[at(k)];
        w = next;
      }
      if (change > 0.0) {
        storage_.update(j, change_.data());
        swept.work += static_cast<double>(t) * storage_.update_work(j);
        swept.fit = std::max(swept.fit, std::sqrt(change * square));
      }
    }
    return swept;
  }

  std::span<double> iterate(std::size_t i) {
    return std::span(iterates_).subspan(i * weights_.size(), weights_.size());
  }

  // Stores the iterate; when memory + 1 are stored, tries their Anderson extrapolation.
  void extrapolate(const ElasticNet &penalty) {
    std::copy(weights_.begin(), weights_.end(), iterate(stored_++).begin());
    if (stored_ <= anderson_depth)
      return;
    stored_ = 0;
    const std::span<double> extrapolated = iterate(anderson_depth + 1);
    const double before = objective(storage_, penalty, unit_, weights_);
    if (anderson_extrapolate(extrapolated)) {
      if (penalty.positive)
        for (double &w : extrapolated)
          w = std::max(w, 0.0);
      if (accept_if_lower(extrapolated, penalty, before))
        return;
    }
    if (storage_.targets() == 1 && extrapolate_line(penalty, extrapolated))
      accept_if_lower(extrapolated, penalty, before);
  }

  // Accepts other weights if the objective there is below `before`; restores the last iterate otherwise.
  bool accept_if_lower(std::span<const double> other, const ElasticNet &penalty, double before) {
    std::copy(other.begin(), other.end(), weights_.begin());
    storage_.reset(weights_);
    if (bounds(penalty).primal < before)
      return true;
    std::copy(iterate(anderson_depth).begin(), iterate(anderson_depth).end(), weights_.begin());
    storage_.reset(weights_);
    return false;
  }

  // Exact line search along the change of the last sweep: strongly correlated columns change by equal steps, sweep
  // after sweep, until one of their weights reaches zero. One target.
  bool extrapolate_line(const ElasticNet &penalty, std::span<double> other) {
    const std::span<const double> before = iterate(anderson_depth - 1), now = iterate(anderson_depth);
    const std::size_t p = weights_.size();
    double slope = 0.0, curvature = 0.0;
    line_.clear();
    const auto correlation_of = [&](std::size_t j) {
      storage_.correlation(static_cast<Index>(j), correlation_.data());
      return correlation_[0];
    };
    for (std::size_t j = 0; j < p; ++j)
      if (const double d = now[j] - before[j]; d != 0.0) {
        const double unit = unit_[j], q = correlation_of(j);
        slope += -q * d + penalty.l2 * unit * unit * now[j] * d;
        slope += penalty.l1 * unit * (now[j] != 0.0 ? std::copysign(1.0, now[j]) * d : std::abs(d));
        curvature += q * d + penalty.l2 * unit * unit * d * d;
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
        curvature -= correlation_of(j) * d;
    storage_.reset(weights_);
    const double step = line_.minimise(slope, curvature, penalty.positive);
    for (std::size_t j = 0; j < p; ++j) {
      other[j] = now[j] + step * (now[j] - before[j]);
      if (penalty.positive)
        other[j] = std::max(other[j], 0.0);
    }
    return step > 0.0;
  }

  // Anderson extrapolation sum_i a_i w_{i + 1} with a = z / sum z, (U U' + small) z = 1, U the differences of iterates.
  bool anderson_extrapolate(std::span<double> extrapolated) {
    double system[anderson_depth][anderson_depth + 1];
    const std::size_t size = weights_.size();
    for (std::size_t i = 0; i < anderson_depth; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        const std::span<const double> a = iterate(i), b = iterate(i + 1), c = iterate(k), d = iterate(k + 1);
        double sum = 0.0;
        for (std::size_t j = 0; j < size; ++j)
          sum += (b[j] - a[j]) * (d[j] - c[j]);
        system[i][k] = system[k][i] = sum;
      }
    double trace = 0.0;
    for (std::size_t i = 0; i < anderson_depth; ++i)
      trace += system[i][i];
    if (!(trace > 0.0))
      return false;
    for (std::size_t i = 0; i < anderson_depth; ++i) {
      system[i][i] += 1e-12 * trace;
      system[i][anderson_depth] = 1.0;
    }
    // Gaussian elimination of a positive definite matrix needs no pivoting.
    for (std::size_t i = 0; i < anderson_depth; ++i)
      for (std::size_t k = i + 1; k < anderson_depth; ++k) {
        const double factor = system[k][i] / system[i][i];
        for (std::size_t j = i; j <= anderson_depth; ++j)
          system[k][j] -= factor * system[i][j];
      }
    double total = 0.0;
    for (std::size_t i = anderson_depth; i-- > 0;) {
      for (std::size_t k = i + 1; k < anderson_depth; ++k)
        system[i][anderson_depth] -= system[i][k] * system[k][anderson_depth];
      system[i][anderson_depth] /= system[i][i];
      total += system[i][anderson_depth];
    }
    if (!std::isfinite(total) || total == 0.0)
      return false;
    std::fill(extrapolated.begin(), extrapolated.end(), 0.0);
    for (std::size_t i = 0; i < anderson_depth; ++i) {
      const double share = system[i][anderson_depth] / total;
      const std::span<const double> one = iterate(i + 1);
      for (std::size_t j = 0; j < size; ++j)
        extrapolated[j] += share * one[j];
    }
    return true;
  }

  Storage &storage_;
  std::span<const double> unit_;
  std::span<double> weights_;
  std::vector<double> correlation_, change_;
  std::vector<double> iterates_; // memory + 1 iterates, and their extrapolation
  NewtonStep<Storage> newton_;
  PiecewiseQuadratic line_;
  std::size_t stored_ = 0;
  double dual_ = 0.0;
};

} // namespace tenfold
