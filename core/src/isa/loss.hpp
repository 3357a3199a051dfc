// The losses of one tile and one target. Given y, z and weight of `count` rows (padded to a multiple of `lanes`, weight
// with zeros), adds to
//   value = sum weight * loss(y, z)      slope = sum weight * loss'(y, z)
// and writes u = weight * loss' and, unless curvature is null, weight * loss''. Rows of weight zero give zero whatever
// z. `parameter` is the hyperparameter of the loss: a width, a quantile, a power. The formulas, the domains of the
// targets and the conjugates are in losses/. The curvature of a nonconvex loss is that of the majorising parabola
// tangent at z, or Fisher's, so that it is never negative.
#pragma once

#include "functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

struct Point {
  Vector value, slope, curvature;
};

inline Vector positive(Vector v) { return v > 0.0 ? v : Vector{}; }

// (z - y)^2 / 2
struct Square {
  static Point at(Vector y, Vector z, double) {
    const Vector residual = z - y;
    return {0.5 * residual * residual, residual, all(1.0)};
  }
};

// log(1 + exp(-y z)), y in {-1, +1}, with e = exp(-|y z|): no cancellation.
struct Logistic {
  static Point at(Vector y, Vector z, double) {
    const Vector m = y * z;
    const Vector e = exponential(-magnitude(m));
    const Vector q = 1.0 / (1.0 + e);
    const Vector wrong = (m < 0.0 ? all(1.0) : e) * q; // the probability of the other class
    const Vector value = (m > 0.0 ? Vector{} : -m) + log_one_plus(e);
    return {value, -y * wrong, e * q * q};
  }
};

// max(0, 1 - y z)
struct Hinge {
  static Point at(Vector y, Vector z, double) {
    const Vector short_of = 1.0 - y * z;
    return {positive(short_of), short_of > 0.0 ? -y : Vector{}, Vector{}};
  }
};

// max(0, 1 - y z)^2
struct SquaredHinge {
  static Point at(Vector y, Vector z, double) {
    const Vector short_of = positive(1.0 - y * z);
    return {short_of * short_of, -2.0 * y * short_of, short_of > 0.0 ? all(2.0) : Vector{}};
  }
};

// max(0, 1 - y z)^2 for y z >= -1, -4 y z below
struct ModifiedHuber {
  static Point at(Vector y, Vector z, double) {
    const Vector m = y * z, short_of = positive(1.0 - m);
    const auto bent = m < -1.0;
    return {bent ? -4.0 * m : short_of * short_of, -y * (bent ? all(4.0) : 2.0 * short_of),
            (bent | (m >= 1.0)) ? Vector{} : all(2.0)};
  }
};

// max(0, |z - y| - width)
struct EpsilonInsensitive {
  static Point at(Vector y, Vector z, double width_of_tube) {
    const Vector residual = z - y, outside = magnitude(residual) - width_of_tube;
    const Vector side = residual > 0.0 ? all(1.0) : (residual < 0.0 ? all(-1.0) : Vector{});
    return {positive(outside), outside > 0.0 ? side : Vector{}, Vector{}};
  }
};

// max(0, |z - y| - width)^2
struct SquaredEpsilonInsensitive {
  static Point at(Vector y, Vector z, double width_of_tube) {
    const Vector residual = z - y, outside = positive(magnitude(residual) - width_of_tube);
    const Vector slope = 2.0 * (residual > 0.0 ? outside : -outside);
    return {outside * outside, slope, outside > 0.0 ? all(2.0) : Vector{}};
  }
};

// (z - y)^2 / 2 up to |z - y| = width, linear beyond
struct Huber {
  static Point at(Vector y, Vector z, double bend) {
    const Vector residual = z - y, size = magnitude(residual);
    const auto inside = size <= bend;
    const Vector side = residual > 0.0 ? all(bend) : all(-bend);
    return {inside ? 0.5 * residual * residual : bend * size - 0.5 * bend * bend, inside ? residual : side,
            inside ? all(1.0) : Vector{}};
  }
};

// q (y - z) below y, (1 - q) (z - y) above
struct Quantile {
  static Point at(Vector y, Vector z, double q) {
    const Vector residual = z - y;
    const Vector slope = residual > 0.0 ? all(1.0 - q) : (residual < 0.0 ? all(-q) : Vector{});
    return {slope * residual, slope, Vector{}};
  }
};

// half the deviance of Poisson counts: exp(z) - y z + y log y - y
struct Poisson {
  static Point at(Vector y, Vector z, double) {
    const Vector mean = exponential(z);
    const Vector constant = y > 0.0 ? y * logarithm(y) - y : Vector{};
    return {mean - y * z + constant, mean - y, mean};
  }
};

// half the deviance of the Gamma distribution: z + y exp(-z) - log y - 1
struct Gamma {
  static Point at(Vector y, Vector z, double) {
    const Vector ratio = y * exponential(-z);
    return {z + ratio - logarithm(y) - 1.0, 1.0 - ratio, ratio};
  }
};

// half the Tweedie deviance with log link and power between 1 and 2:
// y^(2 - p) / ((1 - p) (2 - p)) - y exp((1 - p) z) / (1 - p) + exp((2 - p) z) / (2 - p)
struct Tweedie {
  static Point at(Vector y, Vector z, double power) {
    const double first = 1.0 - power, second = 2.0 - power;
    const Vector falling = y * exponential(first * z), rising = exponential(second * z);
    const Vector constant = y > 0.0 ? exponential(second * logarithm(y)) / (first * second) : Vector{};
    return {constant - falling / first + rising / second, rising - falling, second * rising - first * falling};
  }
};

// The same for any power except 1 and 2, with Fisher's curvature. At power 0 targets may be negative.
struct LogDeviance {
  static Point at(Vector y, Vector z, double power) {
    const double first = 1.0 - power, second = 2.0 - power;
    const Vector falling = y * exponential(first * z), rising = exponential(second * z);
    const Vector positive = y > 0.0 ? exponential(second * logarithm(y)) / (first * second) : Vector{};
    const Vector constant = power == 0.0 ? 0.5 * y * y : positive;
    return {constant - falling / first + rising / second, rising - falling, rising};
  }
};

// half the Tweedie deviance with identity link, mean z > 0, infinite for z <= 0; Fisher's curvature, z^-p
struct IdentityDeviance {
  static Point at(Vector y, Vector z, double power) {
    const auto inside = z > 0.0;
    const Vector mean = inside ? z : all(1.0), log = logarithm(mean);
    const Vector curvature = exponential(-power * log);
    Vector value;
    if (power == 1.0)
      value = (y > 0.0 ? y * logarithm(y) - y : Vector{}) + mean - y * log;
    else if (power == 2.0)
      value = log - logarithm(y) + y / mean - 1.0;
    else {
      const double first = 1.0 - power, second = 2.0 - power;
      const Vector constant = y > 0.0 ? exponential(second * logarithm(y)) / (first * second) : Vector{};
      value = constant + curvature * mean * (mean / second - y / first);
    }
    return {inside ? value : all(__builtin_inf()), inside ? curvature * (mean - y) : Vector{},
            inside ? curvature : Vector{}};
  }
};

// (nu + 1) / 2 log(1 + (z - y)^2 / nu)
struct Student {
  static Point at(Vector y, Vector z, double nu) {
    const Vector residual = z - y, square = residual * residual;
    const Vector weight = (nu + 1.0) / (nu + square);
    return {0.5 * (nu + 1.0) * log_one_plus(square / nu), weight * residual, weight};
  }
};

// 1 - tanh(y z); majorised by the parabola tangent at z with curvature 4 / (3 sqrt(3)), the maximum
struct Tanh {
  static Point at(Vector y, Vector z, double) {
    const Vector m = y * z, e = exponential(-2.0 * magnitude(m));
    const Vector small = 2.0 * e / (1.0 + e); // 1 - tanh |m|
    const Vector value = m > 0.0 ? small : 2.0 - small;
    return {value, -y * small * (2.0 - small), all(0.7698003589195010)};
  }
};

template <class Loss>
void loss(const double *y, const double *z, const double *weight, double parameter, Index count, double *value,
          double *slope, double *u, double *curvature) {
  Vector values{}, slopes{};
  for (Index i = 0; i < count; i += width) {
    const Vector w = load(weight + i);
    const Point point = Loss::at(load(y + i), load(z + i), parameter);
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

// In the order of enum Loss.
constexpr LossKernel losses[] = {loss<Square>,
                                 loss<Logistic>,
                                 loss<Hinge>,
                                 loss<SquaredHinge>,
                                 loss<EpsilonInsensitive>,
                                 loss<SquaredEpsilonInsensitive>,
                                 loss<Huber>,
                                 loss<Quantile>,
                                 loss<Poisson>,
                                 loss<Gamma>,
                                 loss<Tweedie>,
                                 loss<LogDeviance>,
                                 loss<IdentityDeviance>,
                                 loss<Student>,
                                 loss<Tanh>,
                                 loss<ModifiedHuber>};
static_assert(sizeof(losses) / sizeof(losses[0]) == static_cast<unsigned long>(loss_count));

} // namespace
} // namespace tenfold::TENFOLD_ISA
