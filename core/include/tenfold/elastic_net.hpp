// The elastic-net penalty of cd.hpp and its duality gap.
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

// Primal and dual objective of cd.hpp, accumulated over the columns: at the dual points residuals times a scale
// (feasible for the L1 part), and the residuals themselves where l2 > 0.
class DualityGap {
public:
  DualityGap(const ElasticNet &penalty) : penalty_(penalty) {}

  // Adds a column with correlations x_j.r and weights, those of the t targets `step` apart.
  void add(const double *correlation, Index correlation_step, const double *weight, Index weight_step, Index targets,
           double square, double unit) {
    double norm_sq = 0.0, correlation_sq = 0.0, unpenalised_sq = 0.0;
    for (Index k = 0; k < targets; ++k) {
      const double q = correlation[k * correlation_step], w = weight[k * weight_step];
      const double inner = q - penalty_.l2 * unit * unit * w;
      weighted_correlation_ += w * q;
      norm_sq += w * w;
      correlation_sq += penalty_.positive ? std::max(inner, 0.0) * std::max(inner, 0.0) : inner * inner;
      unpenalised_sq += penalty_.positive ? std::max(q, 0.0) * std::max(q, 0.0) : q * q;
    }
    l1_norms_ += unit * std::sqrt(norm_sq);
    squared_norms_ += unit * unit * norm_sq;
    max_correlation_ = std::max(max_correlation_, std::sqrt(correlation_sq) / unit);
    const double excess = std::sqrt(unpenalised_sq) / unit - penalty_.l1;
    if (excess > 0.0)
      excess_sq_ += excess * excess;
    if (square > 0.0)
      coordinate_decrease_ += (norm_sq > 0.0 || !penalty_.positive ? correlation_sq : unpenalised_sq) / square;
  }

  double primal(double residual_sq) const {
    return 0.5 * residual_sq + penalty_.l1 * l1_norms_ + 0.5 * penalty_.l2 * squared_norms_;
  }

  // A lower bound on the minimum of the objective; minus infinity without a penalty.
  double dual(double residual_sq) const {
    const double targets = residual_sq + weighted_correlation_; // y.r
    if (penalty_.l1 == 0.0 && penalty_.l2 == 0.0)
      return -std::numeric_limits<double>::infinity();
    double dual = 0.0;
    if (penalty_.l1 > 0.0) {
      const double quadratic = residual_sq + penalty_.l2 * squared_norms_;
      double scale = max_correlation_ > 0.0 ? penalty_.l1 / max_correlation_ : std::numeric_limits<double>::infinity();
      if (quadratic > 0.0)
        scale = std::min(scale, std::max(targets / quadratic, 0.0));
      if (std::isfinite(scale))
        dual = scale * targets - 0.5 * scale * scale * quadratic;
    }
    if (penalty_.l2 > 0.0)
      dual = std::max(dual, targets - 0.5 * residual_sq - 0.5 * excess_sq_ / penalty_.l2);
    return dual;
  }

  // The duality gap; without a penalty, twice the sum of the decreases of exact coordinate steps.
  double value(double residual_sq) const {
    const double bound = dual(residual_sq);
    return std::isfinite(bound) ? primal(residual_sq) - bound : coordinate_decrease_;
  }

private:
  const ElasticNet penalty_;
  double weighted_correlation_ = 0.0, l1_norms_ = 0.0, squared_norms_ = 0.0, max_correlation_ = 0.0, excess_sq_ = 0.0,
         coordinate_decrease_ = 0.0;
};

} // namespace tenfold
