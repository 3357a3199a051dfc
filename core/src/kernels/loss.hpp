// The losses of one tile and one target. Given y, z and weight of `count` rows (padded to a multiple of `lanes`, weight
// with zeros), adds to
//   value = sum weight * loss(y, z)      slope = sum weight * loss'(y, z)
// and writes u = weight * loss' and, unless curvature is null, weight * loss''. Rows of weight zero give zero whatever
// z.
#pragma once

#include "functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

struct Point {
  Vector value, slope, curvature;
};

// (z - y)^2 / 2
struct Square {
  static Point at(Vector y, Vector z) {
    const Vector residual = z - y;
    return {0.5 * residual * residual, residual, all(1.0)};
  }
};

// log(1 + exp(-y z)), y in {-1, +1}, with e = exp(-|y z|): everything is computed without cancellation.
struct Logistic {
  static Point at(Vector y, Vector z) {
    const Vector m = y * z;
    const Vector e = exponential(-magnitude(m));
    const Vector q = 1.0 / (1.0 + e);
    const Vector wrong = (m < 0.0 ? all(1.0) : e) * q; // the probability of the other class
    const Vector value = (m > 0.0 ? Vector{} : -m) + log_one_plus(e);
    return {value, -y * wrong, e * q * q};
  }
};

template <class Loss>
void loss(const double *y, const double *z, const double *weight, Index count, double *value, double *slope, double *u,
          double *curvature) {
  Vector values{}, slopes{};
  for (Index i = 0; i < count; i += width) {
    const Vector w = load(weight + i);
    const Point point = Loss::at(load(y + i), load(z + i));
    const auto counts = w > 0.0;
    const Vector weighted = counts ? w * point.slope : Vector{};
    values += counts ? w * point.value : Vector{};
    slopes += weighted;
    store(u + i, weighted);
    if (curvature != nullptr)
      store(curvature + i, counts ? w * point.curvature : Vector{});
  }
  *value += sum(values);
  *slope += sum(slopes);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
