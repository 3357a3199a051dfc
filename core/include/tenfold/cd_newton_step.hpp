// Newton steps of coordinate descent with a line search: towards the minimum of F of cd.hpp on the active set
// (cd_active_solve.hpp).
#pragma once

#include "tenfold/cd_active_solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

// F of cd.hpp at the present weights of the storage.
template <class Storage>
double objective(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
                 std::span<const double> weights) {
  const auto p = static_cast<std::size_t>(storage.columns()), t = static_cast<std::size_t>(storage.targets());
  double norms = 0.0, lengths = 0.0;
  for (std::size_t j = 0; j < p; ++j) {
    double length = 0.0;
    for (std::size_t k = 0; k < t; ++k)
      length += weights[k * p + j] * weights[k * p + j];
    norms += unit[j] * std::sqrt(length);
    lengths += unit[j] * unit[j] * length;
  }
  return 0.5 * storage.squares(weights) + penalty.l1 * norms + 0.5 * penalty.l2 * lengths;
}

// A convex piecewise quadratic along a line: its slope jumps at the breakpoints where a weight becomes zero.
class PiecewiseQuadratic {
public:
  void clear() { breakpoints_.clear(); }

  // `position`: step length of a breakpoint; `jump`: jump of the slope there.
  void add(double position, double jump) { breakpoints_.emplace_back(position, jump); }

  Index breakpoints_before(double position) const {
    return std::count_if(breakpoints_.begin(), breakpoints_.end(),
                         [&](const auto &breakpoint) { return breakpoint.first < position; });
  }

  // The minimising step length, from the slope at zero, the curvature and the breakpoints.
  double minimise(double slope, double curvature, bool positive) {
    if (!(slope < 0.0))
      return 0.0;
    std::sort(breakpoints_.begin(), breakpoints_.end());
    double step = 0.0;
    for (const auto &[position, jump] : breakpoints_) {
      if (slope + (position - step) * curvature >= 0.0)
        break;
      slope += (position - step) * curvature;
      step = position;
      if (positive || slope + jump >= 0.0)
        return step; // the minimum is at the breakpoint, or beyond it the weight would be negative
      slope += jump;
    }
    step -= curvature > 0.0 ? slope / curvature : 0.0;
    return std::isfinite(step) ? step : 0.0;
  }

private:
  std::vector<std::pair<double, double>> breakpoints_;
};

template <class Storage> class NewtonStep {
public:
  NewtonStep(Storage &storage, ActiveSetSolver &step, std::span<const double> unit, std::span<double> weights)
      : storage_(storage), step_(step), unit_(unit), weights_(weights), direction_(weights.size()),
        origin_(weights.size()), correlation_(static_cast<std::size_t>(storage.targets())) {}

  // Estimated cost of a step, in the units of the sweeps.
  double cost(const ElasticNet &penalty) {
    step_.select_active(storage_, weights_, penalty.l2);
    return step_.cost(storage_);
  }

  // Steps to the exact minimum on the active set; weights that would change their sign become zero. If the objective is
  // not lower there, a line search shortens the step; if it ends where a weight becomes zero, the step is repeated
  // without that weight. `total` is |y|^2. Returns whether the minimum was reached.
  bool advance(const ElasticNet &penalty, double total) {
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
      step_.select_active(storage_, weights_, penalty.l2);
      const Outcome outcome = step_towards(penalty, total);
      if (outcome != Outcome::at_breakpoint)
        return outcome == Outcome::minimum;
    }
    return false;
  }

private:
  static constexpr int max_attempts = 8; // steps, each with one weight less

  enum class Outcome { minimum, at_breakpoint, rejected };

  Outcome step_towards(const ElasticNet &penalty, double total) {
    if (step_.support().empty() || !step_.solve(storage_, penalty, unit_, weights_, direction_))
      return Outcome::rejected;
    const bool one = storage_.targets() == 1;
    const double length = one ? line_search(penalty) : 0.25;
    const double before =
        objective(storage_, penalty, unit_, weights_) + 4.0 * std::numeric_limits<double>::epsilon() * total;
    std::copy(weights_.begin(), weights_.end(), origin_.begin());
    bool hit_breakpoint = false;
    const auto try_step = [&](double step) {
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const double next = origin_[i] + step * direction_[i];
        const bool at_breakpoint =
            one && step < 1.0 && origin_[i] * direction_[i] < 0.0 && -origin_[i] / direction_[i] == step;
        const bool crossed = one && origin_[i] * next <= 0.0 && (step >= 1.0 || penalty.positive);
        hit_breakpoint |= at_breakpoint;
        weights_[i] = at_breakpoint || crossed ? 0.0 : next;
      }
      storage_.reset(weights_);
      return objective(storage_, penalty, unit_, weights_) <= before;
    };
    if (try_step(1.0))
      return Outcome::minimum;
    if (try_step(length)) // where many weights would change sign, the signs are not settled yet
      return hit_breakpoint && line_.breakpoints_before(1.0) <= max_attempts ? Outcome::at_breakpoint
                                                                             : Outcome::rejected;
    std::copy(origin_.begin(), origin_.end(), weights_.begin());
    storage_.reset(weights_);
    return Outcome::rejected;
  }

  // Exact line search: the minimising step length towards the Newton point. One target.
  double line_search(const ElasticNet &penalty) {
    double decrease = 0.0; // -gradient . step
    line_.clear();
    for (const Index column : step_.support()) {
      const auto j = static_cast<std::size_t>(column);
      const double w = weights_[j], unit = unit_[j];
      storage_.correlation(column, correlation_.data());
      decrease +=
          direction_[j] * (correlation_[0] - penalty.l2 * unit * unit * w - std::copysign(penalty.l1 * unit, w));
      if (w * direction_[j] < 0.0)
        line_.add(-w / direction_[j], 2.0 * penalty.l1 * unit * std::abs(direction_[j]));
    }
    return line_.minimise(-decrease, decrease, penalty.positive);
  }

  Storage &storage_;
  ActiveSetSolver &step_;
  std::span<const double> unit_;
  std::span<double> weights_;
  std::vector<double> direction_, origin_, correlation_;
  PiecewiseQuadratic line_;
};

} // namespace tenfold
