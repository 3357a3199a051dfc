// Cosines between the residual of penalised least squares and the columns, with their rounding.
//
// The residual r = [y; 0] - [X; sqrt(alpha) I] w of a target is orthogonal to the columns A_j of the penalised system
// exactly at the solution. Given the sums of one pass over the samples - 1/2 |y - X w - b|^2, the sum of -(y - X w - b)
// and the gradient -X'(y - X w - b) - this returns for every target
//   part      max over j of |A_j'r| / (|A_j| |r|), and with an intercept |1'r| / (sqrt(W) |r|), W the total weight;
//   rounding  what reading the samples and storing the weights can change of that.
// A residual within that rounding, which is nothing beside the spread of the targets, has no direction: the fit is
// exact, and its part zero. Where the samples can be interpolated, weights with residual r are exact for the targets
// y - r: the part is |r| by the spread of the targets, where that is smaller.
// With nonnegative weights |A_j'r| is the distance of the gradient to the normal cone.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// Of t targets and p columns; matrices are t x p. `mean` and `spread` are the means of the columns of [X y] and their
// norms about these. `distance` and `lost` may be empty: the distance is then that of the penalty, and the gradient
// has no rounding of its own.
struct LeastSquaresSums {
  std::span<const double> value, slope, gradient, coef, intercept, mean, spread, alpha, distance, lost;
  double weight;
  bool centred;      // whether there is an intercept: lengths are about the means
  bool positive;     // whether weights are nonnegative
  bool interpolated; // whether the samples can be interpolated
  double roundoff;   // unit roundoff of the dtype in which weights are stored
  double roundoff_of_intercept;
};

struct ResidualCosines {
  std::vector<double> gradient,
      part;                        // gradient of half the penalised sum of squares; parts are at least their rounding
  double value = 0.0, floor = 0.0; // the largest part or rounding, and the largest rounding
  double largest_part = 0.0, largest_rounding = 0.0; // before interpolation counts
  double objective = 0.0;                            // of all targets, by twice the weight
  double radius = 0.0; // bound on the distance to the best weights; infinite without a penalty
  double drift = 0.0;  // bound on the error of the intercept at the means
  bool finite = true;
};

namespace detail {

// The larger of two numbers, NaN where one is NaN.
inline double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

inline double length(double a, double b) {
  const double square = a * a + b * b;
  return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::hypot(a, b);
}

inline double norm(std::span<const double> x) {
  double square = 0.0, unit = 0.0;
  for (const double value : x)
    square += value * value;
  if (square > 1e-300 && square < std::numeric_limits<double>::infinity())
    return std::sqrt(square);
  for (const double value : x)
    unit = std::max(unit, std::abs(value));
  if (!(unit > 0.0) || !std::isfinite(unit))
    unit = 1.0;
  square = 0.0;
  for (const double value : x)
    square += (value / unit) * (value / unit);
  return unit * std::sqrt(square);
}

inline bool all_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

} // namespace detail

inline ResidualCosines residual_cosines(const LeastSquaresSums &sums) {
  using detail::larger;
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const std::size_t t = sums.value.size(), p = sums.mean.size() - t;
  const double infinity = std::numeric_limits<double>::infinity();
  ResidualCosines result;
  result.gradient.assign(sums.gradient.begin(), sums.gradient.end());
  result.finite = detail::all_finite(sums.value) && detail::all_finite(sums.gradient);
  if (!result.finite)
    return result;
  const double root_weight = std::sqrt(sums.weight), terms = 4.0 + std::sqrt(static_cast<double>(p));
  std::vector<double> raw(p), lengths(p), penalised(p);
  for (std::size_t j = 0; j < p; ++j) {
    raw[j] = detail::length(sums.spread[j], root_weight * std::abs(sums.mean[j]));
    lengths[j] = sums.centred ? sums.spread[j] : raw[j];
  }
  for (std::size_t k = 0; k < t; ++k) {
    const std::span<const double> coef = sums.coef.subspan(k * p, p);
    const std::span<double> gradient = std::span(result.gradient).subspan(k * p, p);
    const double alpha = sums.alpha[k], ridge = std::sqrt(alpha);
    const double raw_target = detail::length(sums.spread[p + k], root_weight * std::abs(sums.mean[p + k]));
    const double target = sums.centred ? sums.spread[p + k] : raw_target;
    // What reading a sample and adding up its terms can round, offsets included: the intercept takes up the product of
    // means and weights. What weights can move when they are stored: features about their means, for the intercept can
    // take up the rest.
    double reading = raw_target, stored = 0.0, cosine = 0.0, blurred = 0.0;
    for (std::size_t j = 0; j < p; ++j) {
      const double size = std::abs(coef[j]);
      reading += size * (raw[j] + ridge);
      stored += size * (lengths[j] + ridge);
      penalised[j] = detail::length(lengths[j], ridge);
      // a centred constant column holds only rounding
      gradient[j] = (lengths[j] > 0.0 ? gradient[j] : 0.0) + alpha * coef[j];
      double distance = std::abs(gradient[j]);
      if (!sums.distance.empty())
        distance = sums.distance[k * p + j];
      else if (sums.positive && !(coef[j] > 0.0))
        distance = std::max(0.0, -gradient[j]);
      cosine = larger(cosine, penalised[j] > 0.0 ? distance / penalised[j] : distance);
      if (!sums.lost.empty() && penalised[j] > 0.0)
        blurred = larger(blurred, sums.lost[k * p + j] / penalised[j]);
    }
    const double size = detail::length(std::sqrt(2.0 * sums.value[k]), ridge * detail::norm(coef));
    const double noise = terms * 0.5 * eps * reading + sums.roundoff * stored +
                         sums.roundoff_of_intercept * std::abs(sums.intercept[k]) * root_weight;
    const double nothing = std::max(std::sqrt(eps), terms * sums.roundoff) * target;
    const bool exact = size <= terms * eps * raw_target + std::min(terms * noise, nothing);
    const double ones = sums.centred ? std::abs(sums.slope[k]) / root_weight : 0.0;
    double part = exact ? 0.0 : larger(cosine, ones) / size;
    double rounding = exact ? std::max(eps, sums.roundoff) : larger(noise, blurred) / size;
    result.largest_part = larger(result.largest_part, part);
    result.largest_rounding = larger(result.largest_rounding, rounding);
    if (sums.interpolated) {
      // a residual within rounding is rounding, and reported as that
      const double left = size <= noise ? noise : size + noise;
      const double change = target > 0.0 ? left / target : infinity;
      if (change < larger(part, rounding)) {
        part = change;
        rounding = noise / target;
      }
    }
    result.part.push_back(larger(part, rounding));
    result.value = larger(result.value, result.part.back());
    result.floor = larger(result.floor, rounding);
    result.objective += size * size / (2.0 * sums.weight);
    // the gradient has the rounding of its sums
    const double known = detail::norm(gradient) + terms * eps * reading * detail::norm(penalised);
    result.radius = larger(result.radius, alpha > 0.0 ? known / alpha : infinity);
    // about the means the best intercept is the mean of the targets, whatever the weights
    result.drift = larger(result.drift, sums.centred ? std::abs(sums.slope[k]) / sums.weight : 0.0);
  }
  return result;
}

} // namespace tenfold
