// Losses of SGD for one target y and one raw prediction z: value and derivative in z.
//
// With m = y z, y in {-1, +1}:
//   hinge            max(0, 1 - m)          perceptron   max(0, -m)          squared_hinge   max(0, 1 - m)^2
//   log_loss         log(1 + exp(-m))       tanh         -tanh(m)
//   modified_huber   max(0, 1 - m)^2 for m >= -1, else -4 m
// With r = z - y:
//   squared_error    r^2 / 2                huber        r^2 / 2 for |r| <= epsilon, else epsilon |r| - epsilon^2 / 2
//   epsilon_insensitive  max(0, |r| - epsilon)           squared_epsilon_insensitive  max(0, |r| - epsilon)^2
// At a kink the subgradient is that of the side with the larger loss, so that a perceptron counts a tie as a mistake.
#pragma once

#include <cmath>

namespace tenfold {

enum class SgdLoss {
  hinge,
  perceptron,
  squared_hinge,
  log_loss,
  tanh,
  modified_huber,
  squared_error,
  huber,
  epsilon_insensitive,
  squared_epsilon_insensitive,
};

struct LossPoint {
  double value, slope;
};

inline LossPoint hinge_at(double m, double y, double threshold) {
  return m <= threshold ? LossPoint{threshold - m, -y} : LossPoint{0.0, 0.0};
}

inline LossPoint logistic_at(double m, double y) {
  const double e = std::exp(-std::fabs(m));
  return {(m < 0.0 ? -m : 0.0) + std::log1p(e), -y * (m < 0.0 ? 1.0 : e) / (1.0 + e)};
}

inline LossPoint epsilon_insensitive_at(double r, double epsilon, bool squared) {
  const double excess = std::fabs(r) - epsilon, sign = r > 0.0 ? 1.0 : -1.0;
  if (!(excess > 0.0))
    return {0.0, 0.0};
  return squared ? LossPoint{excess * excess, 2.0 * sign * excess} : LossPoint{excess, sign};
}

inline LossPoint loss_at(SgdLoss loss, double epsilon, double y, double z) {
  const double m = y * z, r = z - y;
  switch (loss) {
  case SgdLoss::hinge:
    return hinge_at(m, y, 1.0);
  case SgdLoss::perceptron:
    return hinge_at(m, y, 0.0);
  case SgdLoss::squared_hinge: {
    const double excess = 1.0 - m;
    return excess > 0.0 ? LossPoint{excess * excess, -2.0 * y * excess} : LossPoint{0.0, 0.0};
  }
  case SgdLoss::log_loss:
    return logistic_at(m, y);
  case SgdLoss::tanh: {
    const double value = std::tanh(m);
    return {-value, -y * (1.0 - value * value)};
  }
  case SgdLoss::modified_huber:
    if (m >= 1.0)
      return {0.0, 0.0};
    return m >= -1.0 ? LossPoint{(1.0 - m) * (1.0 - m), -2.0 * y * (1.0 - m)} : LossPoint{-4.0 * m, -4.0 * y};
  case SgdLoss::squared_error:
    return {0.5 * r * r, r};
  case SgdLoss::huber:
    if (std::fabs(r) <= epsilon)
      return {0.5 * r * r, r};
    return {epsilon * (std::fabs(r) - 0.5 * epsilon), r >= 0.0 ? epsilon : -epsilon};
  case SgdLoss::epsilon_insensitive:
    return epsilon_insensitive_at(r, epsilon, false);
  case SgdLoss::squared_epsilon_insensitive:
    return epsilon_insensitive_at(r, epsilon, true);
  }
  return {0.0, 0.0};
}

} // namespace tenfold
