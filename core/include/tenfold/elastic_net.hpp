// The penalty of descent.hpp, and how far weights are from the best at most.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenfold {

struct ElasticNet {
  double l1 = 0.0;
  double l2 = 0.0;
  bool positive = false;
};

// The gap, from what each column adds to some sums.
class Gap {
public:
  Gap(const ElasticNet &penalty) : penalty_(penalty) {}

  // A column with pulls x_j.r and weights, t apart by `step`.
  void add(const double *pull, Index pull_step, const double *weight, Index weight_step, Index targets, double square,
           double unit) {
    double length = 0.0, pulled = 0.0, free = 0.0;
    for (Index k = 0; k < targets; ++k) {
      const double q = pull[k * pull_step], w = weight[k * weight_step];
      const double inner = q - penalty_.l2 * unit * unit * w;
      along_ += w * q;
      length += w * w;
      pulled += penalty_.positive ? std::max(inner, 0.0) * std::max(inner, 0.0) : inner * inner;
      free += penalty_.positive ? std::max(q, 0.0) * std::max(q, 0.0) : q * q;
    }
    norms_ += unit * std::sqrt(length);
    lengths_ += unit * unit * length;
    largest_ = std::max(largest_, std::sqrt(pulled) / unit);
    const double over = std::sqrt(free) / unit - penalty_.l1;
    if (over > 0.0)
      over_ += over * over;
    if (square > 0.0)
      falls_ += (length > 0.0 || !penalty_.positive ? pulled : free) / square;
  }

  double primal(double squares) const { return 0.5 * squares + penalty_.l1 * norms_ + 0.5 * penalty_.l2 * lengths_; }

  // A lower bound on the objective at all weights; none without a penalty.
  double dual(double squares) const {
    const double targets = squares + along_; // y.r
    if (penalty_.l1 == 0.0 && penalty_.l2 == 0.0)
      return -std::numeric_limits<double>::infinity();
    double dual = 0.0;
    if (penalty_.l1 > 0.0) {
      const double whole = squares + penalty_.l2 * lengths_;
      double scale = largest_ > 0.0 ? penalty_.l1 / largest_ : std::numeric_limits<double>::infinity();
      if (whole > 0.0)
        scale = std::min(scale, std::max(targets / whole, 0.0));
      if (std::isfinite(scale))
        dual = scale * targets - 0.5 * scale * scale * whole;
    }
    if (penalty_.l2 > 0.0)
      dual = std::max(dual, targets - 0.5 * squares - 0.5 * over_ / penalty_.l2);
    return dual;
  }

  // Without a penalty, twice what the columns can gain one by one.
  double value(double squares) const {
    const double bound = dual(squares);
    return std::isfinite(bound) ? primal(squares) - bound : falls_;
  }

private:
  const ElasticNet penalty_;
  double along_ = 0.0, norms_ = 0.0, lengths_ = 0.0, largest_ = 0.0, over_ = 0.0, falls_ = 0.0;
};

} // namespace tenfold
