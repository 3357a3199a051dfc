// Newton's method for linear models of one target on few dense samples, in one call.
//
// Finds x = (w, b) that minimises
//   sum weight loss(y, (row - shift).w + b) / sum weight + sum_j ridge_j x_j^2 / 2 + sum_j limit_j |x_j|.
// Without limits a step solves H d = -g; with limits it minimises the quadratic model with the absolute values, by
// feature-sign search (Lee, Sun and Saunders 2014). Steps are halved until the objective decreases enough. Near the end
// of quadratic convergence the last step is not evaluated. Flops: 4 n q + n q^2 a step and q^3 / 3, q coefficients.
#pragma once

#include "tenfold/batched_cholesky.hpp"
#include "tenfold/feature_sign.hpp"
#include "tenfold/loss_derivatives.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// An objective and its shape: with limits, an elastic net; without an intercept, its coefficient is zero.
struct DenseGlm {
  Dense<double> x;
  std::span<const double> y, weight, shift; // (n), (n) or empty, (p) or empty
  Loss loss;
  double parameter;
  bool intercept;
  std::span<const double> ridge, limit; // (p + 1), (p + 1) or empty

  std::size_t size() const { return static_cast<std::size_t>(x.columns + 1); }
};

// The bound of the gap that the judge allows, the largest entry of a gradient, and a decrease that is rounding; at most
// `limit` steps.
struct DenseRule {
  double tol, allowed, least;
  Index limit;
};

enum class DenseEnd { converged, limit, stalled, failed };

struct DenseSolution {
  std::vector<double> points;           // (steps + 1, p + 1), the start first
  std::vector<double> values, measures; // of each; the last may be of the point before, with the measure expected
  DenseEnd end = DenseEnd::failed;      // failed: a Hessian that is singular, or numbers that are not finite
};

class DenseNewton {
public:
  DenseNewton(const DenseGlm &glm, const DenseRule &rule) : glm_(glm), rule_(rule), q_(glm.size()) {
    for (std::size_t j = 0; j + 1 < q_; ++j)
      strongly_convex_ = strongly_convex_ && glm.ridge[j] > 0.0;
  }

  DenseSolution run(std::span<const double> start) {
    DenseSolution out;
    std::vector<double> x(start.begin(), start.end());
    Point here = read(x);
    double before = 0.0, last = infinity;
    bool predicts = true;
    while (std::isfinite(here.value) && direction(x, here)) {
      const double decrease = -model_change(x, here.gradient);
      const double measured = measure(x, here, 0.5 * decrease);
      const bool near = predicts && measured > 1.0 && 2.0 * measured * measured <= before;
      out.values.push_back(here.value);
      out.measures.push_back(near ? 2.0 * measured * measured / before : measured);
      if (near)
        for (std::size_t j = 0; j < q_; ++j)
          x[j] += d_[j];
      out.points.insert(out.points.end(), x.begin(), x.end());
      out.end = near || measured <= 1.0 ? DenseEnd::converged : DenseEnd::stalled;
      if (out.end == DenseEnd::converged)
        return out;
      if (static_cast<Index>(out.values.size()) > rule_.limit) {
        out.end = DenseEnd::limit;
        return out;
      }
      if (!(decrease > 0.0) || (decrease <= 1e-12 * std::abs(here.value) && decrease >= 0.25 * last) ||
          !search(x, here, decrease))
        return out;
      before = measured, last = decrease;
    }
    out.end = DenseEnd::failed;
    return out;
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double eps = std::numeric_limits<double>::epsilon();
  static constexpr double min_pivot = 1e-13; // of a Hessian with its diagonal scaled to one
  static constexpr int halvings = 40;        // of a step

  // The objective, the loss alone, and the derivatives of its smooth part.
  struct Point {
    double value = 0.0, loss = 0.0;
    std::vector<double> gradient, hessian;
  };

  Point read(const std::vector<double> &x) const {
    const std::span<const double> all(x);
    tenfold::Derivatives sums =
        derivatives(tenfold::Point<Dense<double>>{glm_.x, glm_.y, glm_.weight, all.first(q_ - 1), all.subspan(q_ - 1),
                                                  glm_.shift, glm_.loss, glm_.parameter},
                    2, 1);
    Point out;
    out.loss = sums.value[0] / sums.weight;
    out.gradient = std::move(sums.gradient);
    out.gradient.push_back(sums.slope[0]);
    out.hessian = std::move(sums.hessian);
    for (double &each : out.gradient)
      each /= sums.weight;
    for (double &each : out.hessian)
      each /= sums.weight;
    if (!glm_.intercept) {
      out.gradient.back() = 0.0;
      for (std::size_t j = 0; j < q_; ++j)
        out.hessian[j * q_ + q_ - 1] = out.hessian[(q_ - 1) * q_ + j] = j + 1 == q_ ? 1.0 : 0.0;
    }
    double penalty = 0.0;
    for (std::size_t j = 0; j < q_; ++j) {
      penalty += 0.5 * glm_.ridge[j] * x[j] * x[j] + (glm_.limit.empty() ? 0.0 : glm_.limit[j] * std::abs(x[j]));
      out.gradient[j] += glm_.ridge[j] * x[j];
      out.hessian[j * q_ + j] += glm_.ridge[j];
    }
    out.value = out.loss + penalty;
    return out;
  }

  // The step d from x; false for a Hessian that is singular or not finite.
  bool direction(const std::vector<double> &x, Point &here) {
    if (!glm_.limit.empty())
      return proximal_direction(x, here);
    const auto unit = unit_diagonal(here);
    double *h = here.hessian.data();
    for (std::size_t i = 0; i < q_; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        h[i * q_ + j] *= unit[i] * unit[j];
    if (!(cholesky_in_place(h, static_cast<Index>(q_)) > min_pivot))
      return false;
    d_.resize(q_);
    for (std::size_t j = 0; j < q_; ++j)
      d_[j] = -here.gradient[j] * unit[j];
    const std::int64_t only = 0;
    solve_cholesky_batch(here.hessian, static_cast<Index>(q_), {&only, 1}, d_);
    for (std::size_t j = 0; j < q_; ++j)
      d_[j] *= unit[j];
    return all_finite(d_);
  }

  std::vector<double> unit_diagonal(const Point &here) const {
    std::vector<double> unit(q_, 1.0);
    for (std::size_t j = 0; j < q_; ++j)
      if (const double h = here.hessian[j * q_ + j]; h > 0.0)
        unit[j] = 1.0 / std::sqrt(h);
    return unit;
  }

  bool proximal_direction(const std::vector<double> &x, const Point &here) {
    if (!all_finite(here.hessian) || !all_finite(here.gradient))
      return false;
    std::vector<double> u(x);
    FeatureSignSearch(static_cast<Index>(q_))
        .run(here.hessian.data(), here.gradient.data(), glm_.limit.data(), u.data());
    d_.resize(q_);
    for (std::size_t j = 0; j < q_; ++j)
      d_[j] = u[j] - x[j];
    return all_finite(d_);
  }

  static bool all_finite(std::span<const double> x) {
    return std::all_of(x.begin(), x.end(), [](double each) { return std::isfinite(each); });
  }

  // The change of the objective to first order along d, its kinks included.
  double model_change(const std::vector<double> &x, const std::vector<double> &gradient) const {
    double change = 0.0;
    for (std::size_t j = 0; j < q_; ++j) {
      change += gradient[j] * d_[j];
      if (!glm_.limit.empty())
        change += glm_.limit[j] * (std::abs(x[j] + d_[j]) - std::abs(x[j]));
    }
    return change;
  }

  double measure(const std::vector<double> &x, const Point &here, double decrease) const {
    if (!glm_.limit.empty())
      return proximal_measure(x, here, decrease);
    // without a penalty the judge needs a decrement within the region of quadratic convergence; an intercept without
    // one adds the expected decrease
    double largest = 0.0, bound = strongly_convex_ ? decrease : 1e4 * decrease;
    for (std::size_t j = 0; j < q_; ++j) {
      const double g = here.gradient[j];
      largest = std::max(largest, std::abs(g));
      if (strongly_convex_ && glm_.ridge[j] > 0.0)
        bound += 0.5 * g * g / glm_.ridge[j];
    }
    return std::min(std::max(largest / rule_.tol, bound / rule_.allowed), std::abs(decrease) / rule_.least);
  }

  // The gap at the slopes of the loss, scaled until no correlation exceeds its limit.
  double proximal_measure(const std::vector<double> &x, const Point &here, double decrease) const {
    double scale = 1.0, largest = std::abs(here.gradient.back());
    for (std::size_t j = 0; j + 1 < q_; ++j) {
      const double v = here.gradient[j] - glm_.ridge[j] * x[j], limit = glm_.limit[j];
      if (glm_.ridge[j] == 0.0 && std::abs(v) > limit)
        scale = std::min(scale, limit / std::abs(v));
      const double side =
          x[j] != 0.0 ? std::abs(here.gradient[j] + std::copysign(limit, x[j])) : std::max(std::abs(v) - limit, 0.0);
      largest = std::max(largest, side);
    }
    double gap = (1.0 - scale) * here.loss + decrease;
    for (std::size_t j = 0; j + 1 < q_; ++j) {
      const double v = scale * (here.gradient[j] - glm_.ridge[j] * x[j]);
      const double beyond = std::max(std::abs(v) - glm_.limit[j], 0.0);
      gap += glm_.limit[j] * std::abs(x[j]) + 0.5 * glm_.ridge[j] * x[j] * x[j] + v * x[j];
      gap += glm_.ridge[j] > 0.0 ? 0.5 * beyond * beyond / glm_.ridge[j] : 0.0;
    }
    return std::min(std::max(largest / rule_.tol, gap / rule_.allowed), std::abs(decrease) / rule_.least);
  }

  // Moves x by the longest of d, d / 2, d / 4, ... that decreases the objective enough; false where rounding hides any.
  bool search(std::vector<double> &x, Point &here, double decrease) const {
    double length = 1.0;
    std::vector<double> trial(q_);
    for (int k = 0; k < halvings; ++k, length *= 0.5) {
      for (std::size_t j = 0; j < q_; ++j)
        trial[j] = x[j] + length * d_[j];
      Point there = read(trial);
      if (there.value <= here.value - 1e-4 * length * decrease + 4.0 * eps * std::abs(here.value) &&
          all_finite(there.gradient)) {
        std::swap(x, trial);
        here = std::move(there);
        return true;
      }
    }
    return false;
  }

  const DenseGlm &glm_;
  DenseRule rule_;
  std::size_t q_;
  bool strongly_convex_ = true;
  std::vector<double> d_;
};

} // namespace tenfold
